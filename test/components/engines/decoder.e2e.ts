import { spawnSync } from 'node:child_process';
import type { AudioFormat } from '../../../src/platform/audio/audio-formats.js';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type AudioSource, decode, decoderProblem } from '../../../src/modules/transcriptions/decoding/decoder.js';
import { AudioRejectedError } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { absurdWavs, silenceWav, wav } from '../../support/audio/audio-bytes.js';
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

  async function secondsOf(source: AudioSource, maxSeconds = 100, signal = never): Promise<number> {
    let bytes = 0;
    for await (const pcm of decode(source, { maxSeconds, signal })) bytes += pcm.length;
    return bytes / BYTES_PER_SECOND;
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
    expect(await secondsOf(await fileOf(silenceWav(90), 'wav'), 7)).toBe(7);
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

  describe('of codecs', () => {
    const VIDEO = ['-f', 'lavfi', '-i', 'testsrc=d=2:s=64x64:r=5'];

    /** A recording with these streams, in the format of the extension. */
    async function made(extension: string, ...options: string[]): Promise<Buffer> {
      const file = path.join(folder, `${Math.random()}.${extension}`);
      const speech = path.join(SPEECH, 'go-forward-ten-meters.wav');
      const { status, stderr } = spawnSync('ffmpeg', ['-v', 'error', '-y', '-i', speech, ...options, file]);
      if (status !== 0) throw new Error(stderr.toString());
      return await readFile(file);
    }

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

function magic(hex: string): Buffer {
  return Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(50_000, 0xa7)]);
}

/** Processes of ffmpeg that have the file on their command line. */
function decodersOf({ file }: AudioSource): number {
  const { stdout } = spawnSync('ps', ['-eo', 'comm,args'], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.startsWith('ffmpeg ') && line.includes(file)).length;
}
