/** One of an archive. */
export interface ZipEntry {
  name: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** The format has two bytes for their number. */
export const MAX_ENTRIES = 65_535;

const VERSION = 20;
/** Names are in UTF-8. */
const FLAGS = 0x0800;

/** An archive of files, which are stored as they are. @param time of all of them */
export function zipOf(entries: readonly ZipEntry[], time: Date): Blob {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { name, bytes } of entries) {
    const encoded = new TextEncoder().encode(name);
    const facts = factsOf(bytes, encoded.length, time);
    const header = record([[4, 0x04034b50], [2, VERSION], ...facts]);
    parts.push(header, encoded, bytes);
    // Without a comment, on the first disk, without attributes.
    directory.push(
      record([[4, 0x02014b50], [2, VERSION], [2, VERSION], ...facts, [2, 0], [2, 0], [2, 0], [4, 0], [4, offset]]),
      encoded,
    );
    offset += header.length + encoded.length + bytes.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const count = entries.length;
  const end = record([
    [4, 0x06054b50],
    [2, 0],
    [2, 0],
    [2, count],
    [2, count],
    [4, size],
    [4, offset],
    [2, 0],
  ]);
  return new Blob([...parts, ...directory, end], { type: 'application/zip' });
}

type Value = readonly [bytes: 2 | 4, value: number];

/** What both headers of a file say of it. */
function factsOf(bytes: Uint8Array, nameLength: number, time: Date): Value[] {
  const clock = (time.getHours() << 11) | (time.getMinutes() << 5) | (time.getSeconds() >> 1);
  const day = ((time.getFullYear() - 1980) << 9) | ((time.getMonth() + 1) << 5) | time.getDate();
  const { length } = bytes;
  const stored = 0;
  const noExtra = 0;
  return [
    [2, FLAGS],
    [2, stored],
    [2, clock],
    [2, day],
    [4, crc32(bytes)],
    [4, length],
    [4, length],
    [2, nameLength],
    [2, noExtra],
  ];
}

/** Little-endian. */
function record(values: readonly Value[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(values.reduce((sum, [size]) => sum + size, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const [size, value] of values) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return bytes;
}

const CRC_OF_BYTE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (CRC_OF_BYTE[(crc ^ byte) & 0xff] as number);
  return (crc ^ 0xffffffff) >>> 0;
}
