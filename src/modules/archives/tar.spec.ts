import { paddingOf, readTarHeader, tarHeader } from './tar.js';

const MODIFIED = new Date('2026-11-28T10:00:00Z');

describe('headers of tar files', () => {
  it.each([
    ['manifest.json', 0],
    ['recordings/019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60/audio.webm', 88_211],
    ['x'.repeat(100), 8 ** 11 - 1],
  ])('are read as they were written: %s', (name, size) => {
    expect(readTarHeader(tarHeader({ name, size }, MODIFIED))).toEqual({ name, size });
  });

  it.each([
    ['x'.repeat(101), 1],
    ['a', 8 ** 11],
  ])('are refused where the format has no place: %s', (name, size) => {
    expect(() => tarHeader({ name, size }, MODIFIED)).toThrow(/too long/);
  });

  it.each<[string, number, string]>([
    ['a changed name', 0, 'A'],
    ['a link', 156, '1'],
    ['a folder', 156, '5'],
    ['an extended header', 156, 'x'],
    ['another format', 257, 'gnutar'],
    ['a size that is no octal number', 124, '9'],
    ['a negative size', 124, '\x80'],
  ])('are refused with %s', (_, at, text) => {
    const header = tarHeader({ name: 'a', size: 1 }, MODIFIED);
    header.write(text, at, 'latin1');
    expect(() => readTarHeader(header)).toThrow(/not a header/);
  });

  it('are none at the end', () => {
    expect(readTarHeader(Buffer.alloc(512))).toBeNull();
  });

  it.each([
    [0, 0],
    [1, 511],
    [512, 0],
    [513, 511],
  ])('stand at multiples of 512 bytes: behind %s bytes come %s', (size, padding) => {
    expect(paddingOf(size)).toEqual(Buffer.alloc(padding));
  });
});
