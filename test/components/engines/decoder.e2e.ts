import { spawnSync } from 'node:child_process';
import type { AudioFormat } from '../../../src/platform/audio-formats.js';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  type AudioSource,
  decode,
  type DecodeOptions,
  decoderProblem,
} from '../../../src/modules/transcriptions/audio/decoder.js';
import { AudioRejectedError } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { absurdWavs, silenceWav, twoChannels, wav } from '../../support/audio/audio-bytes.js';
import { encoded, NOTES } from '../../support/audio/encoded.js';
import { box, u32 } from '../../support/audio/mp4.js';
import { SPEECH } from '../../../src/testing/speech.js';

const BYTES_PER_SECOND = 32_000;
const never = new AbortController().signal;

jest.setTimeout(60_000);

describe('the decoder', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'decoder e2e '));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function fileOf(bytes: Buffer, format: AudioFormat): Promise<AudioSource> {
    const file = path.join(folder, `${Math.random()}:note.${format}`);
    await writeFile(file, bytes);
    return { file, format, sampleRate: null, channels: null };
  }

  async function pcmOf(source: AudioSource, options: Partial<DecodeOptions> = {}): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const pcm of decode(source, { maxSeconds: 100, signal: never, ...options })) parts.push(pcm);
    return Buffer.concat(parts);
  }

  async function secondsOf(source: AudioSource, options: Partial<DecodeOptions> = {}): Promise<number> {
    return (await pcmOf(source, options)).length / BYTES_PER_SECOND;
  }

  const fixture = (name: string): Promise<Buffer> => readFile(path.join(SPEECH, name));

  it('can work on this machine', async () => {
    expect(await decoderProblem()).toBeNull();
  });

  it.each(['wav', 'mp3', 'ogg', 'webm'] as const)('decodes %s', async (format) => {
    const source = await fileOf(await fixture(`go-forward-ten-meters.${format}`), format);
    expect(await secondsOf(source)).toBeCloseTo(2.79, 1);
  });

  it.each(['webm', 'ogg', 'mp3', 'wav'] as const)('decodes a %s that breaks off as far as it goes', async (format) => {
    const bytes = await fixture(`go-forward-ten-meters.${format}`);
    const seconds = await secondsOf(await fileOf(bytes.subarray(0, Math.floor(bytes.length * 0.7)), format));
    expect(seconds).toBeGreaterThan(0.9);
    expect(seconds).toBeLessThan(2.3);
  });

  it('decodes no more than it is asked for', async () => {
    expect(await secondsOf(await fileOf(silenceWav(90), 'wav'), { maxSeconds: 7 })).toBe(7);
  });

  it.each(Object.entries(absurdWavs))(
    'survives a WAV header that claims %s and has no facts given',
    async (_, make) => {
      await secondsOf(await fileOf(make(), 'wav')).catch((error: unknown) =>
        expect(error).toBeInstanceOf(AudioRejectedError),
      );
    },
  );

  it.each([
    ['a WAV without samples', () => wav(), 'wav'],
    ['noise behind the magic of webm', () => magic('1a45dfa3'), 'webm'],
    ['noise behind the magic of ogg', () => magic('4f676753'), 'ogg'],
    ['an mp3 that is a playlist', () => Buffer.from('#EXTM3U\nfile:///etc/passwd\n'), 'mp3'],
    ['a WAV that is a concatenation script', () => Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n"), 'wav'],
  ] as const)('refuses %s for good', async (_, make, format) => {
    const refusal = await secondsOf(await fileOf(make(), format)).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AudioRejectedError);
    expect((refusal as Error).message).toBe('The file contains no audio that can be decoded.');
  });

  let original: number[] | null = null;
  it.each(Object.entries(NOTES))('decodes %s', async (_, { format, make }) => {
    original ??= loudnessOf(await pcmOf(await fileOf(await fixture('go-forward-ten-meters.wav'), 'wav')));
    const pcm = await pcmOf(await fileOf(await make(), format as AudioFormat));
    expect(Math.abs(pcm.length / BYTES_PER_SECOND - 2.786)).toBeLessThan(0.1);
    // Codecs without an index begin up to a tenth of a second late.
    const delays = [0, 1, 2, 3, 4, 5, 6];
    const levels = loudnessOf(pcm);
    expect(Math.max(...delays.map((delay) => correlation(original as number[], levels.slice(delay))))).toBeGreaterThan(
      0.8,
    );
  });

  it.each(Object.entries(NOTES))('brings to an end wherever it breaks off: %s', async (_, { format, make }) => {
    const bytes = await make();
    for (const share of [0.3, 0.95]) {
      const part = bytes.subarray(0, Math.floor(bytes.length * share));
      const seconds = await secondsOf(await fileOf(part, format as AudioFormat)).catch((error: unknown) => {
        expect(error).toBeInstanceOf(AudioRejectedError);
        return 0;
      });
      expect(seconds).toBeLessThan(2.9);
    }
  });

  it('keeps the pauses of AMR in which nothing was sent', async () => {
    const note = await fixture('go-forward-ten-meters.nb.amr');
    const middle = 6 + 32 * 70;
    const paused = Buffer.concat([note.subarray(0, middle), Buffer.alloc(100, 0x7c), note.subarray(middle)]);
    expect(await secondsOf(await fileOf(paused, 'amr'))).toBeCloseTo(4.8, 1);
  });

  it('takes one channel out of two, and the only one there is', async () => {
    const loud = twoChannels(await fixture('go-forward-ten-meters.wav'), wav(), 0, 3);
    const levels: number[] = [];
    for (const channel of [0, 1]) {
      const pcm = await pcmOf(await fileOf(loud, 'wav'), { channel });
      expect(pcm.length / BYTES_PER_SECOND).toBe(3);
      levels.push(pcm.filter((byte) => byte !== 0).length);
    }
    expect([levels[0] !== 0, levels[1]]).toEqual([true, 0]);
    const mono = await fileOf(await fixture('go-forward-ten-meters.wav'), 'wav');
    expect(await secondsOf(mono, { channel: 1 })).toBeCloseTo(2.79, 1);
  });

  it('opens no other file that a track of an MP4 names as the place of its audio', async () => {
    const elsewhere = await fileOf(await encoded('go-forward-ten-meters.wav', 'mov', '-c:a', 'pcm_s16le'), 'm4a');
    const bytes = await encoded('go-forward-ten-meters.wav', 'mov', '-c:a', 'pcm_s16le');
    const referring = await fileOf(withReference(bytes, aliasOf(elsewhere.file)), 'm4a');
    await expect(secondsOf(referring)).rejects.toBeInstanceOf(AudioRejectedError);
  });

  describe('of codecs', () => {
    const VIDEO = ['-f', 'lavfi', '-i', 'testsrc=d=2:s=64x64:r=5'];

    const H263 = ['-f', 'lavfi', '-i', 'testsrc=d=2:s=176x144:r=5', '-c:v', 'h263'];
    const IMAGE = ['-f', 'lavfi', '-i', 'testsrc=d=0.2:s=64x64:r=5', '-map', '0:a', '-map', '1:v'];
    const COVER = [...IMAGE, '-c:v', 'mjpeg', '-disposition:v', 'attached_pic'];

    /** A recording with these streams, in the format of the extension. */
    const made = (extension: string, ...options: string[]): Promise<Buffer> =>
      encoded('go-forward-ten-meters.wav', extension, ...options);

    /** Matroska that says that it is WebM: only the name of the document type is changed. */
    async function asWebm(...options: string[]): Promise<Buffer> {
      const bytes = await made('mkv', ...options);
      bytes.fill('webm\0\0\0\0', bytes.indexOf('matroska'), bytes.indexOf('matroska') + 8);
      return bytes;
    }

    it.each([
      ['AC-3 in Matroska', 'webm', 'ac3', () => asWebm('-c:a', 'ac3')],
      ['AAC in Matroska', 'webm', 'aac', () => asWebm('-c:a', 'aac')],
      ['MPEG-4 video beside Opus', 'webm', 'mpeg4', () => asWebm(...VIDEO, '-c:a', 'libopus', '-c:v', 'mpeg4')],
      ['AC-3 in an MP4', 'm4a', 'ac3', () => made('mp4', '-c:a', 'ac3')],
      ['AC-3 in a WAV', 'wav', 'ac3', () => made('wav', '-c:a', 'ac3')],
      ['AC-3 behind the name of an mp3', 'mp3', null, () => made('ac3', '-c:a', 'ac3')],
    ] as const)('refuses %s', async (_, format, codec, make) => {
      const refusal = await secondsOf(await fileOf(await make(), format)).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(AudioRejectedError);
      const reason = codec
        ? `The file contains ${codec}, which is not a codec of ${format} files.`
        : 'The file contains no audio that can be decoded.';
      expect((refusal as Error).message).toBe(reason);
    });

    it.each([
      ['WebM with VP8 video', 'webm', () => made('webm', ...VIDEO, '-c:a', 'libopus', '-c:v', 'libvpx')],
      ['WebM with VP9 video', 'webm', () => made('webm', ...VIDEO, '-c:a', 'libopus', '-c:v', 'libvpx-vp9')],
      ['WebM with PCM', 'webm', () => asWebm('-c:a', 'pcm_f32le')],
      ['MP4 with H.264 or MPEG-4 video', 'm4a', () => made('mp4', ...VIDEO, '-c:a', 'aac', '-c:v', 'mpeg4')],
      ['3GP with H.263 video', 'm4a', () => made('3gp', ...H263, '-c:a', 'aac')],
      ['m4a with a cover image', 'm4a', () => made('m4a', ...COVER, '-c:a', 'aac')],
      ['FLAC with a cover image', 'flac', () => made('flac', ...COVER, '-c:a', 'flac')],
      ['an mp3 with a cover image', 'mp3', () => made('mp3', ...VIDEO, '-frames:v', '1', '-c:v', 'mjpeg')],
      ['Ogg with FLAC', 'ogg', () => made('ogg', '-c:a', 'flac')],
      ['Ogg with Speex', 'ogg', () => made('ogg', '-c:a', 'libspeex')],
      ['WAV with A-law', 'wav', () => made('wav', '-c:a', 'pcm_alaw')],
      ['WAV with MS ADPCM', 'wav', () => made('wav', '-c:a', 'adpcm_ms')],
      ['WAV with mp3', 'wav', () => made('wav', '-c:a', 'libmp3lame')],
    ] as const)('decodes %s', async (_, format, make) => {
      expect(await secondsOf(await fileOf(await make(), format))).toBeCloseTo(2.8, 0);
    });
  });

  it('waits while its reader does, and ends ffmpeg when the reader leaves', async () => {
    const source = await fileOf(silenceWav(600), 'wav');
    for await (const pcm of decode(source, { maxSeconds: 600, signal: never })) {
      expect(pcm.length).toBeGreaterThan(0);
      expect(decodersOf(source)).toBe(1);
      break;
    }
    expect(decodersOf(source)).toBe(0);
  });

  it('is ended by its signal, with the reason of it', async () => {
    const source = await fileOf(silenceWav(600), 'wav');
    const stop = new AbortController();
    const reading = (async () => {
      for await (const pcm of decode(source, { maxSeconds: 600, signal: stop.signal }))
        if (pcm) stop.abort(new Error('deleted'));
    })();
    await expect(reading).rejects.toThrow('deleted');
    expect(decodersOf(source)).toBe(0);
  });
});

/** The mean level of each 20 ms. */
function loudnessOf(pcm: Buffer): number[] {
  const samples = new Int16Array(pcm.buffer, pcm.byteOffset, Math.floor(pcm.length / 2));
  return Array.from({ length: Math.floor(samples.length / 320) }, (_, i) => {
    const part = samples.subarray(i * 320, (i + 1) * 320);
    return part.reduce((sum, sample) => sum + Math.abs(sample), 0) / part.length;
  });
}

/** 1 when the levels rise and fall together, also where one is louder than the other. */
function correlation(one: number[], other: number[]): number {
  const length = Math.min(one.length, other.length);
  const deviations = (levels: number[]): number[] => {
    const part = levels.slice(0, length);
    const mean = part.reduce((sum, level) => sum + level, 0) / length;
    return part.map((level) => level - mean);
  };
  const [a, b] = [deviations(one), deviations(other)];
  const product = (x: number[], y: number[]): number => x.reduce((sum, level, i) => sum + level * (y[i] as number), 0);
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b));
}

/** As QuickTime names a file in a data reference: fields that are not used here, then the path. */
function aliasOf(file: string): Buffer {
  const name = Buffer.alloc(64);
  name[0] = name.write('a.mov', 1);
  const target = Buffer.alloc(Math.ceil(Buffer.byteLength(file) / 2) * 2);
  target.write(file);
  const field = Buffer.from([0, 2, target.length >> 8, target.length & 255]);
  const end = Buffer.from([255, 255, 0, 0]);
  return box('alis', u32(0), Buffer.alloc(50), name, Buffer.alloc(36), field, target, end);
}

/** Without its samples: its data reference, which says that they are in the same file, is replaced. */
function withReference(mov: Buffer, reference: Buffer): Buffer {
  const parents = ['moov', 'trak', 'mdia', 'minf', 'dinf', 'dref'].map((type) => mov.indexOf(type) - 4);
  const at = mov.indexOf('dref') + 12;
  const replaced = mov.readUInt32BE(at);
  const bytes = Buffer.concat([mov.subarray(0, at), reference, mov.subarray(at + replaced)]);
  for (const parent of parents) bytes.writeUInt32BE(mov.readUInt32BE(parent) + reference.length - replaced, parent);
  return bytes.fill(0, bytes.indexOf('mdat') + 4, bytes.indexOf('moov') - 4);
}

function magic(hex: string): Buffer {
  return Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(50_000, 0xa7)]);
}

/** Processes of ffmpeg that have the file on their command line. */
function decodersOf({ file }: AudioSource): number {
  const { stdout } = spawnSync('ps', ['-eo', 'comm,args'], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.startsWith('ffmpeg ') && line.includes(file)).length;
}
