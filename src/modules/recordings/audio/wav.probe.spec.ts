import {
  absurdWavs,
  emptyWav,
  inMemory,
  pipedWav,
  silenceWav,
  silentMp3,
  wav,
  type WavClaims,
} from '../../../../test/support/audio/audio-bytes.js';
import { type AudioFacts, probeAudio } from './inspect-audio.js';
import { FileWindow } from './file-window.js';

const probe = (bytes: Buffer): Promise<AudioFacts> => probeAudio(new FileWindow(inMemory(bytes), bytes.length), 'wav');

describe('probeAudio of WAV', () => {
  const second = (bytes: number): Buffer => Buffer.alloc(bytes, 0x80);
  it.each<[string, WavClaims, number]>([
    ['pcm_u8', { bitsPerSample: 8, data: second(16_000) }, 1],
    ['pcm_s16le', { channels: 2, sampleRate: 44_100, data: second(176_400) }, 1],
    ['pcm_s24le', { bitsPerSample: 24, sampleRate: 96_000, data: second(288_000) }, 1],
    ['pcm_f32le', { formatTag: 3, bitsPerSample: 32, data: second(64_000) }, 1],
    ['pcm_alaw', { formatTag: 6, bitsPerSample: 8, sampleRate: 8_000, data: second(8_000) }, 1],
    ['pcm_mulaw', { formatTag: 7, bitsPerSample: 8, sampleRate: 8_000, data: second(8_000) }, 1],
    ['adpcm_yamaha', { formatTag: 0x20, bitsPerSample: 4, sampleRate: 8_000, data: second(4_000) }, 1],
    ['gsm_ms', { formatTag: 0x31, sampleRate: 8_000, data: second(16_000) }, 1],
  ])('measures %s', async (codec, claims, durationSeconds) => {
    expect(await probe(wav(claims))).toMatchObject({ durationSeconds, codec });
  });

  it('measures ADPCM by its blocks', async () => {
    // 256 bytes hold four bytes of header, which are the first sample, and 504 samples.
    const bytes = wav({ formatTag: 0x11, bitsPerSample: 4, sampleRate: 10_100, data: Buffer.alloc(2560) });
    bytes.writeUInt16LE(256, 32);
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 0.5, codec: 'adpcm_ima_wav' });
  });

  it('reads the sub-format of an extensible header, after other chunks', async () => {
    const plain = silenceWav(1);
    const junk = Buffer.from('LIST\x03\x00\x00\x00abc\x00', 'latin1');
    const format = Buffer.alloc(48);
    plain.copy(format, 0, 12, 36);
    format.writeUInt32LE(40, 4);
    format.writeUInt16LE(0xfffe, 8);
    format.writeUInt16LE(1, 32);
    const bytes = Buffer.concat([plain.subarray(0, 12), junk, format, plain.subarray(36)]);
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 1, codec: 'pcm_s16le' });
  });

  it('measures MP3 in WAV by its frames', async () => {
    const bytes = wav({ formatTag: 0x55, data: silentMp3(1) });
    expect(await probe(bytes)).toMatchObject({ durationSeconds: 1.019, codec: 'mp3' });
  });

  it('counts the data up to the end of the file', async () => {
    expect(await probe(pipedWav())).toMatchObject({ durationSeconds: 0.003 });
    expect(await probe(wav({ dataLength: 0, data: Buffer.alloc(32_000) }))).toMatchObject({
      durationSeconds: 1,
    });
    expect(await probe(silenceWav(2).subarray(0, 32_044))).toMatchObject({ durationSeconds: 1 });
    const trailing = Buffer.concat([silenceWav(1), Buffer.from('LIST\x04\x00\x00\x00abcd', 'latin1')]);
    expect(await probe(trailing)).toMatchObject({ durationSeconds: 1 });
    expect(await probe(emptyWav())).toMatchObject({ durationSeconds: 0, codec: 'pcm_s16le' });
  });

  it.each(Object.entries(absurdWavs))('gives no length to %s', async (_, bytes) => {
    expect(await probe(bytes())).toMatchObject({ durationSeconds: 0, bitRate: null, codec: 'pcm_s16le' });
  });

  it('returns the values of an absurd header, limited to a 32-bit integer', async () => {
    expect(await probe(wav({ sampleRate: 1 }))).toMatchObject({ sampleRate: 1 });
    expect(await probe(wav({ sampleRate: 4e9 }))).toMatchObject({ sampleRate: 2 ** 31 - 1 });
    expect(await probe(wav({ channels: 65_535 }))).toMatchObject({ channels: 65_535 });
  });
});
