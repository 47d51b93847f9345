import { crc32 } from 'node:zlib';

import { zipOf } from './zip';

const TIME = new Date(2026, 10, 28, 9, 41, 6);
const encode = (text: string) => new TextEncoder().encode(text);

/** The files of an archive as its directory lists them. */
function read(archive: Buffer): { name: string; text: string; isWhole: boolean; day: number; clock: number }[] {
  const end = archive.length - 22;
  expect(archive.readUInt32LE(end)).toBe(0x06054b50);
  const count = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  return Array.from({ length: count }, () => {
    expect(archive.readUInt32LE(at)).toBe(0x02014b50);
    const nameLength = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    const offset = archive.readUInt32LE(at + 42);
    const size = archive.readUInt32LE(at + 24);
    const start = offset + 30 + archive.readUInt16LE(offset + 26);
    expect(archive.readUInt32LE(offset)).toBe(0x04034b50);
    const bytes = archive.subarray(start, start + size);
    const isWhole = crc32(bytes) === archive.readUInt32LE(at + 16);
    const [clock, day] = [archive.readUInt16LE(at + 12), archive.readUInt16LE(at + 14)];
    at += 46 + nameLength;
    return { name, text: bytes.toString('utf8'), isWhole, day, clock };
  });
}

describe('an archive', () => {
  it('has each file with its name and its text, whole', async () => {
    const files = [
      { name: 'note.txt', bytes: encode('Go forward ten meters.') },
      { name: 'مذكرة.txt', bytes: encode('وصلت الشحنة') },
      { name: 'empty.txt', bytes: encode('') },
    ];
    const found = read(Buffer.from(await zipOf(files, TIME).arrayBuffer()));
    const time = { day: (46 << 9) | (11 << 5) | 28, clock: (9 << 11) | (41 << 5) | 3 };
    expect(found).toEqual([
      { name: 'note.txt', text: 'Go forward ten meters.', isWhole: true, ...time },
      { name: 'مذكرة.txt', text: 'وصلت الشحنة', isWhole: true, ...time },
      { name: 'empty.txt', text: '', isWhole: true, ...time },
    ]);
  });

  it('may be empty', async () => {
    expect(read(Buffer.from(await zipOf([], TIME).arrayBuffer()))).toEqual([]);
  });
});
