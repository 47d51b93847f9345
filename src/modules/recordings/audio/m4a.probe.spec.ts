import fc from 'fast-check';
import { inMemory } from '../../../../test/support/audio/audio-bytes.js';
import {
  box,
  fragmentedMp4,
  FTYP,
  fullBox,
  longBox,
  mp4,
  type Mp4Claims,
  track,
  u32,
} from '../../../../test/support/audio/mp4.js';
import { startCpuTime } from '../../../../test/support/cpu-wait.js';
import { type AudioFacts, detectFormat, probeAudio } from './inspect-audio.js';
import { FileWindow } from './file-window.js';

const MAX_BYTES = 8_000_000;

const probe = (bytes: Buffer): Promise<AudioFacts> => probeAudio(new FileWindow(inMemory(bytes), bytes.length), 'm4a');
const second: Mp4Claims = { ticks: 1000, sizes: Array<number>(16).fill(20) };

describe('probeAudio of MP4', () => {
  it.each<[string, Buffer]>([
    ['with its index first', mp4(second)],
    ['with its index last', mp4({ ...second, dataFirst: true })],
    ['in fragments', fragmentedMp4(1, { ticks: 1000 })],
  ])('measures a file %s', async (_, bytes) => {
    expect(await probe(bytes)).toStrictEqual({
      durationSeconds: 1,
      sampleRate: 16_000,
      channels: 1,
      bitRate: 16 * 20 * 8,
      codec: 'aac',
    });
  });

  it('measures two hours in fragments', async () => {
    expect(await probe(fragmentedMp4(7200, { ticks: 1000 }))).toMatchObject({ durationSeconds: 7200 });
  });

  it.each<[string, Mp4Claims, string | null, number, number | null]>([
    ['AAC of a camera', { sampleRate: 48_000, channels: 2 }, 'aac', 48_000, 2],
    ['AMR', { codec: 'samr', sampleRate: 0, channels: 2 }, 'amr_nb', 8000, 1],
    ['wideband AMR', { codec: 'sawb' }, 'amr_wb', 16_000, 1],
    ['AC-3', { codec: 'ac-3' }, 'ac3', 16_000, 1],
    ['FLAC of a rate that does not fit', { codec: 'fLaC', sampleRate: 0, channels: 0 }, 'flac', 16_000, null],
    ['a codec that is not known', { codec: 'xxxx' }, null, 16_000, 1],
  ])('reads the facts of %s', async (_, claims, codec, sampleRate, channels) => {
    expect(await probe(mp4({ ...second, ...claims }))).toMatchObject({
      durationSeconds: 1,
      codec,
      sampleRate,
      channels,
    });
  });

  it('takes the first audio track, behind video and with another behind it', async () => {
    const video = track({ handler: 'vide', timescale: 90_000, ticks: 90_000, sizes: [] });
    const bytes = mp4(second);
    const at = bytes.indexOf('trak') - 4;
    const more = Buffer.concat([bytes.subarray(0, at), video, bytes.subarray(at)]);
    more.writeUInt32BE(more.readUInt32BE(FTYP.length) + video.length, FTYP.length);
    expect(await probe(more)).toMatchObject({ durationSeconds: 1, codec: 'aac' });
    const other = track({ ticks: 5000, timescale: 1, sizes: [] });
    expect(await probe(mp4({ ...second, more: other }))).toMatchObject({ durationSeconds: 1 });
  });

  it.each<[string, Mp4Claims['edits'], number]>([
    ['what fills the decoder', [[900, 1600]], 0.9],
    [
      'an empty edit',
      [
        [5000, 0xffffffff],
        [800, 1600],
      ],
      0.8,
    ],
    ['a length of 0, as fragments have', [[0, 1600]], 0.9],
    ['more than there is', [[9000, 8000]], 0.5],
  ])('leaves out what the edit list leaves out: %s', async (_, edits, durationSeconds) => {
    expect(await probe(mp4({ ...second, edits }))).toMatchObject({ durationSeconds });
    expect(await probe(fragmentedMp4(1, { ticks: 1000, edits }))).toMatchObject({ durationSeconds });
  });

  it('ignores the edit list when the movie has no timescale, and has no length when the track has none', async () => {
    const edits: Mp4Claims['edits'] = [[900, 0]];
    expect(await probe(mp4({ ...second, edits, movieTimescale: 0 }))).toMatchObject({ durationSeconds: 1 });
    expect(await probe(mp4({ ...second, timescale: 0 }))).toMatchObject({ durationSeconds: 0, bitRate: null });
  });

  it('counts what a truncated file holds', async () => {
    const whole = mp4({ ...second, sizes: Array<number>(16_000).fill(20) });
    const { durationSeconds } = await probe(whole.subarray(0, whole.length - 160_000));
    expect(durationSeconds).toBeCloseTo(500, 0);
    const live = fragmentedMp4(100, { ticks: 1000 });
    const half = await probe(live.subarray(0, live.length / 2));
    expect(Math.abs(half.durationSeconds - 50)).toBeLessThan(2);
  });

  it('reads sizes of 64 bits, and takes a last box of size 0 up to the end', async () => {
    const bytes = mp4(second);
    const moov = bytes.subarray(FTYP.length, bytes.indexOf('mdat') - 4);
    const data = Buffer.alloc(320);
    const openEnd = Buffer.concat([u32(0), Buffer.from('mdat'), data]);
    expect(await probe(Buffer.concat([FTYP, longBox('mdat', data), moov]))).toMatchObject({ durationSeconds: 1 });
    expect(await probe(Buffer.concat([FTYP, moov, openEnd]))).toMatchObject({ durationSeconds: 1 });
  });

  it.each<[string, Buffer]>([
    ['no index', FTYP],
    ['an empty index', Buffer.concat([FTYP, box('moov')])],
    ['an index behind 4 GB that are not there', Buffer.concat([FTYP, u32(0xffffffff), Buffer.from('mdat')])],
    ['an index behind 2^63 bytes', Buffer.concat([FTYP, longBox('mdat', Buffer.alloc(0), 2n ** 63n), mp4(second)])],
    ['a box that is shorter than its header', Buffer.concat([FTYP, u32(4), Buffer.from('moov'), mp4(second)])],
    ['samples in another file', mp4({ ...second, sizes: [] })],
    ['samples without bytes', mp4({ sizes: Array<number>(100_000).fill(0) })],
    ['boxes in boxes', nested(10_000)],
  ])('gives no length to a file of %s', async (_, bytes) => {
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 0, bitRate: null });
  });

  it('believes no count that the file cannot hold', async () => {
    const bytes = mp4({ ...second, count: 0xffffffff });
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 1 });
    const equal = mp4(second);
    const stsz = equal.indexOf('stsz') + 8;
    u32(1, 0xffffffff).copy(equal, stsz);
    expect((await probe(equal)).durationSeconds).toBeLessThanOrEqual(1);
    const ticks = mp4({ ...second, ticks: 0xffffffff });
    expect((await probe(ticks)).durationSeconds).toBeLessThan(17);
  });

  it('reads a file at most once, and calls it amr or m4a with no more, whatever the content', async () => {
    const start = mp4(second);
    const table = (type: string): Buffer =>
      Buffer.concat([FTYP, stbl(Buffer.concat([u32(MAX_BYTES - 400), Buffer.from(type), u32(0, 0xffffffff)]))]);
    const hostile: [Buffer, string][] = [
      [start, '0000000866726565'],
      [start, '000000086d6f6f66'],
      [start, '000000086d6f6f76'],
      [start, '000000087472616b'],
      [start, '00000010000000006d6f6f660000000874726166'],
      [table('stts'), '0000000100000001'],
      [table('stsz'), '00000001'],
      [table('elst'), '000000010000000100010000'],
      [table('trun'), 'ffffffff'],
    ];
    for (const [head, filling] of hostile) {
      const bytes = Buffer.alloc(MAX_BYTES, Buffer.from(filling, 'hex'));
      head.copy(bytes);
      const file = inMemory(bytes);
      const window = new FileWindow(file, bytes.length);
      const cpuMs = startCpuTime();
      await detectFormat(window);
      await probeAudio(window, 'm4a');
      expect(file.bytesRead).toBeLessThan(bytes.length * 2.1);
      expect(cpuMs()).toBeLessThan(1000);
    }
  }, 60_000);

  it.each([
    ['an index first', mp4({ ...second, edits: [[900, 1600]] })],
    ['fragments', fragmentedMp4(3, { ticks: 1000, edits: [[0, 1600]] })],
  ])('gives numbers that a database takes for %s with wrong bytes in it', async (_, original) => {
    const place = fc.nat(original.length - 1);
    const damage = fc.array(fc.tuple(place, fc.oneof(fc.constantFrom(0, 255), fc.nat(255))), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(damage, fc.nat(original.length), async (changes, length) => {
        const bytes = Buffer.from(original);
        for (const [position, value] of changes) bytes[position] = value;
        const { durationSeconds, sampleRate, channels, bitRate } = await probe(bytes.subarray(0, length));
        for (const value of [durationSeconds * 1000, sampleRate ?? 0, channels ?? 0, bitRate ?? 0]) {
          expect(value >= 0 && value < 2 ** 31).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});

/** `moov` in `moov`, so many times over, with an index in the innermost. */
function nested(depth: number): Buffer {
  const headers = Array.from({ length: depth }, (_, i) =>
    Buffer.concat([u32((depth - i) * 8 + 400), Buffer.from('moov')]),
  );
  return Buffer.concat([FTYP, ...headers, mp4(second)]);
}

/** A table of samples, up to the end of the file. */
function stbl(content: Buffer): Buffer {
  const hdlr = fullBox('hdlr', 0, u32(0), Buffer.from('soun'), Buffer.alloc(13));
  let bytes = Buffer.alloc(0);
  for (const type of ['stbl', 'minf', 'mdia', 'trak', 'moov'].toReversed()) {
    bytes = Buffer.concat([bytes, u32(0), Buffer.from(type), type === 'mdia' ? hdlr : Buffer.alloc(0)]);
  }
  return Buffer.concat([bytes, content]);
}
