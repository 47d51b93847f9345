import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  garbage,
  inMemory,
  MAGIC,
  mp3WithTag,
  notAudio,
  silentMp3,
  silentWebm,
  wav,
} from '../../../../../test/support/audio/audio-bytes.js';
import { type AudioFormat, detectFormat } from './audio-format.js';
import { FileWindow } from './file-window.js';

const SPEECH = path.join(__dirname, '../../../../../test/fixtures/speech');

const recognise = (bytes: Buffer): Promise<AudioFormat | null> =>
  detectFormat(new FileWindow(inMemory(bytes), bytes.length));

describe('recogniseFormat', () => {
  it.each([
    ['go-forward-ten-meters.webm', 'webm'],
    ['ss-0880.mediarecorder.webm', 'webm'],
    ['go-forward-ten-meters.mp3', 'mp3'],
    ['go-forward-ten-meters.ogg', 'ogg'],
    ['go-forward-ten-meters.wav', 'wav'],
  ])('recognises %s', async (name, format) => {
    expect(await recognise(readFileSync(path.join(SPEECH, name)))).toBe(format);
  });

  it.each(Object.entries(notAudio))('does not take %s', async (_, bytes) => {
    expect(await recognise(bytes())).toBeNull();
  });

  it.each(Object.keys(MAGIC) as AudioFormat[])('takes a right beginning of %s, whatever follows', async (format) => {
    for (let seed = 0; seed < 20; seed++) expect(await recognise(garbage(format, seed))).toBe(format);
    expect(await recognise(MAGIC[format])).toBe(format);
  });

  it.each(Object.keys(MAGIC) as AudioFormat[])('does not take half a beginning of %s', async (format) => {
    for (let length = 0; length < 4; length++) {
      expect(await recognise(MAGIC[format].subarray(0, length))).toBeNull();
    }
  });

  it('looks behind an ID3 tag of 20 MB without reading it', async () => {
    const bytes = mp3WithTag(20_000_000);
    const file = inMemory(bytes);
    expect(await detectFormat(new FileWindow(file, bytes.length))).toBe('mp3');
    expect(file.bytesRead).toBeLessThan(300_000);
  });

  it('looks behind several ID3 tags, a footer and padding', async () => {
    const withFooter = mp3WithTag(200, Buffer.from('3DI\x04\x00\x10\x00\x00\x01\x3e', 'latin1'));
    withFooter[5] = 0x10;
    const padding = Buffer.alloc(1000);
    const tags = Buffer.concat([mp3WithTag(3000, Buffer.alloc(0)), withFooter, padding]);
    expect(await recognise(Buffer.concat([tags, silentMp3(1)]))).toBe('mp3');
  });

  it('does not take a file of nothing but ID3 tags', async () => {
    expect(await recognise(mp3WithTag(500, Buffer.alloc(0)))).toBeNull();
    expect(await recognise(mp3WithTag(20_000, Buffer.alloc(0)).subarray(0, 500))).toBeNull();
    expect(await recognise(Buffer.alloc(100_000, mp3WithTag(10, Buffer.alloc(0))))).toBeNull();
  });

  it.each([
    ['a reserved version', 0xffebb0c4],
    ['layer I', 0xffffb0c4],
    ['the free bit rate', 0xfffb00c4],
    ['a bad bit rate', 0xfffbf0c4],
    ['a reserved sample rate', 0xfffbbcc4],
  ])('does not take an MPEG header with %s', async (_, header) => {
    const bytes = silentMp3(1);
    bytes.writeUInt32BE(header);
    expect(await recognise(bytes)).toBeNull();
  });

  it.each([
    ['MPEG-1', 0xfffb90c4],
    ['MPEG-2', 0xfff390c4],
    ['MPEG-2.5', 0xffe390c4],
  ])('takes layer III of %s', async (_, header) => {
    const bytes = silentMp3(1);
    bytes.writeUInt32BE(header);
    expect(await recognise(bytes)).toBe('mp3');
  });

  it('takes WAV with the lengths of a pipe, and RF64', async () => {
    const piped = wav({ data: Buffer.alloc(100), dataLength: 0xffffffff });
    expect(await recognise(piped)).toBe('wav');
    piped.write('RF64', 'latin1');
    expect(await recognise(piped)).toBe('wav');
  });

  it('asks the EBML header for its DocType, padded or not the first element', async () => {
    const padded = Buffer.from('1a45dfa38aec81004282857765626d00', 'hex');
    expect(await recognise(padded)).toBe('webm');
    const missing = Buffer.from('1a45dfa38342868101', 'hex');
    expect(await recognise(missing)).toBeNull();
    const beyondTheHeader = Buffer.concat([Buffer.from('1a45dfa380', 'hex'), silentWebm(1).subarray(5)]);
    expect(await recognise(beyondTheHeader)).toBeNull();
  });

  it('takes no other version of Ogg', async () => {
    expect(await recognise(Buffer.from('OggS\x01', 'latin1'))).toBeNull();
  });
});
