import { spawnSync } from 'node:child_process';
import type { AudioFormat } from '../../src/platform/audio/audio-formats.js';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type AudioSource, decode, decoderProblem } from '../../src/modules/transcriptions/decoding/decoder.js';
import { AudioRejectedError } from '../../src/modules/transcriptions/engines/transcription-engine.js';
import { absurdWavs, silenceWav, wav } from '../support/audio/audio-bytes.js';
import { SPEECH } from '../../src/testing/speech.js';

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

  it('can work on this machine', () => {
    expect(decoderProblem()).toBeNull();
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

/** Processes that have the file on their command line. */
function decodersOf({ file }: AudioSource): number {
  const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line.includes(file)).length;
}
