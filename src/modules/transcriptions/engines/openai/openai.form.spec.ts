import { transcriptionForm } from './openai.form.js';
import { wavHeader } from '../wav.js';

describe('transcriptionForm', () => {
  it('declares the exact length of its body', () => {
    const { headers, parts } = transcriptionForm([['model', 'grün']], Buffer.alloc(1000));
    expect(headers['content-length']).toBe(String(Buffer.concat(parts).length));
  });

  it('contains the audio itself and no copy of it', () => {
    const pcm = Buffer.alloc(1000);
    expect(transcriptionForm([], pcm).parts).toContain(pcm);
  });
});

describe('wavHeader', () => {
  it('describes 16 kHz mono 16-bit PCM of the given length', () => {
    const header = wavHeader(32_000);
    expect(header).toHaveLength(44);
    expect(header.toString('ascii', 0, 4)).toBe('RIFF');
    expect(header.readUInt32LE(4)).toBe(32_036);
    expect(header.toString('ascii', 8, 16)).toBe('WAVEfmt ');
    expect([header.readUInt32LE(16), header.readUInt16LE(20), header.readUInt16LE(22)]).toEqual([16, 1, 1]);
    expect([header.readUInt32LE(24), header.readUInt32LE(28)]).toEqual([16_000, 32_000]);
    expect([header.readUInt16LE(32), header.readUInt16LE(34)]).toEqual([2, 16]);
    expect(header.toString('ascii', 36, 40)).toBe('data');
    expect(header.readUInt32LE(40)).toBe(32_000);
  });
});
