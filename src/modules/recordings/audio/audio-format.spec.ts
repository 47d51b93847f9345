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
  type PretendedFormat,
  wav,
} from '../../../../test/support/audio/audio-bytes.js';
import type { AudioFormat } from '../../../platform/audio-formats.js';
import { detectFormat, unsupportedFormat } from './audio-format.js';
import { FileWindow } from './file-window.js';

const SPEECH = path.join(__dirname, '../../../../test/fixtures/speech');

const detect = (bytes: Buffer): Promise<AudioFormat | null> =>
  detectFormat(new FileWindow(inMemory(bytes), bytes.length));

describe('detectFormat', () => {
  it.each([
    ['go-forward-ten-meters.webm', 'webm'],
    ['ss-0880.mediarecorder.webm', 'webm'],
    ['go-forward-ten-meters.mp3', 'mp3'],
    ['go-forward-ten-meters.ogg', 'ogg'],
    ['go-forward-ten-meters.wav', 'wav'],
  ])('detects %s', async (name, format) => {
    expect(await detect(readFileSync(path.join(SPEECH, name)))).toBe(format);
  });

  it.each(Object.entries(notAudio))('rejects %s', async (_, bytes) => {
    expect(await detect(bytes())).toBeNull();
  });

  it.each(Object.keys(MAGIC) as PretendedFormat[])(
    'accepts a valid beginning of %s, whatever follows',
    async (format) => {
      for (let seed = 0; seed < 20; seed++) expect(await detect(garbage(format, seed))).toBe(format);
      expect(await detect(MAGIC[format])).toBe(format);
    },
  );

  it.each(Object.keys(MAGIC) as PretendedFormat[])('rejects half a beginning of %s', async (format) => {
    for (let length = 0; length < 4; length++) {
      expect(await detect(MAGIC[format].subarray(0, length))).toBeNull();
    }
  });

  it('skips an ID3 tag of 20 MB without reading it', async () => {
    const bytes = mp3WithTag(20_000_000);
    const file = inMemory(bytes);
    expect(await detectFormat(new FileWindow(file, bytes.length))).toBe('mp3');
    expect(file.bytesRead).toBeLessThan(300_000);
  });

  it('skips several ID3 tags, a footer and padding', async () => {
    const withFooter = mp3WithTag(200, Buffer.from('3DI\x04\x00\x10\x00\x00\x01\x3e', 'latin1'));
    withFooter[5] = 0x10;
    const padding = Buffer.alloc(1000);
    const tags = Buffer.concat([mp3WithTag(3000, Buffer.alloc(0)), withFooter, padding]);
    expect(await detect(Buffer.concat([tags, silentMp3(1)]))).toBe('mp3');
  });

  it('rejects a file of ID3 tags only', async () => {
    expect(await detect(mp3WithTag(500, Buffer.alloc(0)))).toBeNull();
    expect(await detect(mp3WithTag(20_000, Buffer.alloc(0)).subarray(0, 500))).toBeNull();
    expect(await detect(Buffer.alloc(100_000, mp3WithTag(10, Buffer.alloc(0))))).toBeNull();
  });

  it.each([
    ['a reserved version', 0xffebb0c4],
    ['layer I', 0xffffb0c4],
    ['the free bit rate', 0xfffb00c4],
    ['a bad bit rate', 0xfffbf0c4],
    ['a reserved sample rate', 0xfffbbcc4],
  ])('rejects an MPEG header with %s', async (_, header) => {
    const bytes = silentMp3(1);
    bytes.writeUInt32BE(header);
    expect(await detect(bytes)).toBeNull();
  });

  it.each([
    ['MPEG-1', 0xfffb90c4],
    ['MPEG-2', 0xfff390c4],
    ['MPEG-2.5', 0xffe390c4],
  ])('accepts layer III of %s', async (_, header) => {
    const bytes = silentMp3(1);
    bytes.writeUInt32BE(header);
    expect(await detect(bytes)).toBe('mp3');
  });

  it('accepts WAV with the lengths of a pipe, and RF64', async () => {
    const piped = wav({ data: Buffer.alloc(100), dataLength: 0xffffffff });
    expect(await detect(piped)).toBe('wav');
    piped.write('RF64', 'latin1');
    expect(await detect(piped)).toBe('wav');
  });

  it('reads the DocType of the EBML header, padded or not the first element', async () => {
    const padded = Buffer.from('1a45dfa38aec81004282857765626d00', 'hex');
    expect(await detect(padded)).toBe('webm');
    const missing = Buffer.from('1a45dfa38342868101', 'hex');
    expect(await detect(missing)).toBeNull();
    const beyondTheHeader = Buffer.concat([Buffer.from('1a45dfa380', 'hex'), silentWebm(1).subarray(5)]);
    expect(await detect(beyondTheHeader)).toBeNull();
  });

  it('rejects other versions of Ogg', async () => {
    expect(await detect(Buffer.from('OggS\x01', 'latin1'))).toBeNull();
  });
});

function reasonFor(bytes: Buffer): Promise<string> {
  return unsupportedFormat(new FileWindow(inMemory(bytes), bytes.length), ['webm', 'mp3', 'ogg', 'wav'], null);
}

describe('unsupportedFormat', () => {
  it.each([
    ['HEIF', Buffer.from('\0\0\0\x20ftypheic\0\0\0\0', 'latin1')],
    ['HEIF', Buffer.from('\0\0\0\x20ftypheim\0\0\0\0', 'latin1')],
    ['AVIF', Buffer.from('\0\0\0\x20ftypavif\0\0\0\0', 'latin1')],
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
    ['PDF', Buffer.from('%PDF-1.7\n', 'latin1')],
    ['ZIP', Buffer.from('PK\x03\x04\x14\0', 'latin1')],
    ['text', Buffer.from('Dear customer,\nthank you for …')],
  ])('names %s', async (name, bytes) => {
    expect(await reasonFor(bytes)).toBe(`must be audio in webm, mp3, ogg or wav; this looks like ${name}`);
  });

  it('names a format that the operator does not accept', async () => {
    const file = new FileWindow({ read: async () => ({ bytesRead: 0 }) }, 0);
    expect(await unsupportedFormat(file, ['wav', 'm4a'], 'amr')).toBe('must be audio in wav or m4a; this is amr');
  });

  it.each([Buffer.alloc(0), Buffer.alloc(100), Buffer.from([1, 2, 3, 250])])('names nothing unknown', async (bytes) => {
    expect(await reasonFor(bytes)).toBe('must be audio in webm, mp3, ogg or wav');
  });
});
