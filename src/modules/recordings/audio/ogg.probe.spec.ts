import { readFileSync } from 'node:fs';
import path from 'node:path';
import { inMemory } from '../../../../test/support/audio/audio-bytes.js';
import { type AudioFacts, probeAudio } from './inspect-audio.js';
import { FileWindow } from './file-window.js';

const speech = (name: string): Buffer => readFileSync(path.join(__dirname, '../../../../test/fixtures/speech', name));
const probe = (bytes: Buffer): Promise<AudioFacts> => probeAudio(new FileWindow(inMemory(bytes), bytes.length), 'ogg');
const times = (count: number, bytes: Buffer): Buffer => Buffer.alloc(bytes.length * count, bytes);

describe('probeAudio of Ogg', () => {
  /** One page of whole packets; no checksum, which the probe leaves to the decoder. */
  function page(flags: number, granule: number, serial: number, packets: Buffer[]): Buffer {
    const lacing = packets.flatMap(({ length }) => [
      ...Array<number>(Math.floor(length / 255)).fill(255),
      length % 255,
    ]);
    const header = Buffer.alloc(27);
    header.write('OggS', 'latin1');
    header[5] = flags;
    header.writeBigInt64LE(BigInt(granule), 6);
    header.writeUInt32LE(serial, 14);
    header[26] = lacing.length;
    return Buffer.concat([header, Buffer.from(lacing), ...packets]);
  }

  const opening = (first: Buffer, serial = 7): Buffer => page(2, 0, serial, [first]);

  /** The other headers, then 40 packets of 100 bytes and the granule position that is said to be at their end. */
  function rest(headers: number, granule: number, serial = 7): Buffer {
    const more = Array<Buffer>(headers - 1).fill(Buffer.from('header'));
    const audio = Array<Buffer>(40).fill(Buffer.alloc(100));
    return Buffer.concat([page(0, 0, serial, more), page(4, granule, serial, audio)]);
  }

  const stream = (first: Buffer, headers: number, granule: number): Buffer =>
    Buffer.concat([opening(first), rest(headers, granule)]);

  // Stereo at 44.1 kHz, blocks of 256 and 2048 samples.
  const vorbis = Buffer.alloc(30);
  vorbis.write('\x01vorbis\0\0\0\0\x02', 'latin1');
  vorbis.writeUInt32LE(44_100, 12);
  vorbis[28] = 0xb8;

  // Mono at 8 kHz, two frames of 160 samples in a packet.
  const speex = Buffer.alloc(80);
  speex.write('Speex   ', 'latin1');
  speex.writeUInt32LE(8_000, 36);
  speex.writeUInt32LE(1, 48);
  speex.writeUInt32LE(160, 56);
  speex.writeUInt32LE(2, 64);

  it('reads Vorbis', async () => {
    const facts = await probe(stream(vorbis, 3, 22_050));
    expect(facts).toEqual({ durationSeconds: 0.5, sampleRate: 44_100, channels: 2, bitRate: 64_672, codec: 'vorbis' });
  });

  it('reads Speex', async () => {
    const facts = await probe(stream(speex, 2, 8_000));
    expect(facts).toMatchObject({ durationSeconds: 1, sampleRate: 8_000, channels: 1, codec: 'speex' });
  });

  it('reads FLAC', async () => {
    const streamInfo = Buffer.from('1000 1000 000000 000000 0ac442f0'.replaceAll(' ', ''), 'hex');
    const first = Buffer.concat([Buffer.from('\x7fFLAC\x01\x00\x00\x01fLaC\x00\x00\x00\x22', 'latin1'), streamInfo]);
    const facts = await probe(stream(Buffer.concat([first, Buffer.alloc(24)]), 2, 88_200));
    expect(facts).toMatchObject({ durationSeconds: 2, sampleRate: 44_100, channels: 2, codec: 'flac' });
  });

  it.each([2 ** 31, 2 ** 32 + 50_000, Number.MAX_SAFE_INTEGER])(
    'gives no more than the packets can hold when the last granule position is %i',
    async (granule) => {
      const packets = Array<Buffer>(15).fill(Buffer.alloc(9));
      // The first page ends at its own capacity: the stream begins at 0, and only the second page lies.
      const lying = Buffer.concat([stream(vorbis, 3, 40 * 1024), page(4, granule, 7, packets)]);
      expect(await probe(lying)).toMatchObject({ durationSeconds: Number(((55 * 1024) / 44_100).toFixed(3)) });
    },
  );

  it('does not take a granule position of the first page for its length', async () => {
    const { durationSeconds } = await probe(stream(vorbis, 3, Number.MAX_SAFE_INTEGER));
    expect(durationSeconds).toBe(Number(((40 * 1024) / 44_100).toFixed(3)));
  });

  it.each([-1, -2, -(2 ** 62)])('takes no position from a page on which no packet ends, %i', async (granule) => {
    const packets = Array<Buffer>(15).fill(Buffer.alloc(9));
    const open = Buffer.concat([stream(vorbis, 3, 22_050), page(0, granule, 7, packets)]);
    expect(await probe(open)).toMatchObject({ durationSeconds: 0.5 });
  });

  it('starts at the first granule position of a stream that was cut out of a longer one', async () => {
    const later = Buffer.concat([
      stream(speex, 2, 808_000),
      page(4, 812_800, 7, Array<Buffer>(15).fill(Buffer.alloc(9))),
    ]);
    expect(await probe(later)).toMatchObject({ durationSeconds: 2.2 });
  });

  it('counts from the first granule position where the packets could hold more', async () => {
    const later = [stream(vorbis, 3, 1_000_000), page(4, 1_005_000, 7, Array<Buffer>(15).fill(Buffer.alloc(9)))];
    const samples = 40 * 1024 + 5000;
    expect(await probe(Buffer.concat(later))).toMatchObject({ durationSeconds: Number((samples / 44_100).toFixed(3)) });
  });

  it('adds up chained streams, also more than fit in the window', async () => {
    const note = speech('go-forward-ten-meters.ogg');
    const { durationSeconds } = await probe(times(40, note));
    expect(Math.abs(durationSeconds - 40 * 2.786)).toBeLessThan(0.1);
  });

  it('measures the first of multiplexed streams', async () => {
    const theora = opening(Buffer.from('\x80theora', 'latin1'), 3);
    const openings = [theora, opening(speex, 1), opening(vorbis, 2)];
    const together = Buffer.concat([...openings, rest(3, 44_100, 2), rest(2, 8_000, 1)]);
    expect(await probe(together)).toMatchObject({ durationSeconds: 1, codec: 'speex' });
  });

  it('skips a truncated page, and finds the next page after damage', async () => {
    const note = speech('go-forward-ten-meters.ogg');
    const cut = await probe(note.subarray(0, -100));
    expect(cut.durationSeconds).toBeGreaterThan(1.5);
    expect(cut.durationSeconds).toBeLessThan(2.7);
    const damaged = Buffer.concat([
      stream(speex, 2, 8_000),
      Buffer.from('OggS, not'),
      page(4, 16_000, 7, Array<Buffer>(25).fill(Buffer.alloc(9))),
    ]);
    expect(await probe(damaged)).toMatchObject({ durationSeconds: 2 });
  });
});
