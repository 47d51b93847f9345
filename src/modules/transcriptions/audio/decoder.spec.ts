import { AudioRejectedError } from '../engines/transcription-engine.js';
import { type AudioSource, decode } from './decoder.js';

const options = { maxSeconds: 60, signal: new AbortController().signal };
const source: AudioSource = { file: '/nowhere/at/all', format: 'wav', sampleRate: 16_000, channels: 1 };

// What ffmpeg makes of real files is in test/components/engines/decoder.e2e.ts.
describe('decode', () => {
  it.each([
    ['1 Hz', { sampleRate: 1 }],
    ['0 Hz', { sampleRate: 0 }],
    ['4 GHz', { sampleRate: 4_000_000_000 }],
    ['no channel', { channels: 0 }],
    ['65535 channels', { channels: 65_535 }],
  ])('rejects a header of %s before it starts a process', async (_, claims) => {
    const error = await decode({ ...source, ...claims }, options)
      .next()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AudioRejectedError);
  });

  it('does not suspect the audio when the file is missing', async () => {
    await expect(decode(source, options).next()).rejects.toMatchObject({ name: 'EngineError', audioSuspected: false });
  });

  it('starts nothing when already aborted', async () => {
    const signal = AbortSignal.abort(new Error('deleted'));
    await expect(decode(source, { ...options, signal }).next()).rejects.toThrow('deleted');
  });
});
