/** Everything in a tar file is a multiple of this. */
export const BLOCK_BYTES = 512;
/** Two blocks of zeros. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

/** A file in a tar file. */
export interface TarMember {
  name: string;
  size: number;
}

/** Zeros behind the content of a member. */
export const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES);

const MAX_NAME = 100;
const MAX_SIZE = 8 ** 11 - 1;
/** Readable for its owner alone. */
const MODE = '0000600';
const CHECKSUM = { at: 148, length: 8 };
const MAGIC = 'ustar\x0000';

/** The header of a regular file (POSIX ustar). @throws Error when the format has no place for the name or the size */
export function tarHeader({ name, size }: TarMember, modified: Date): Buffer {
  if (Buffer.byteLength(name) > MAX_NAME || size > MAX_SIZE) throw new Error(`too long for a tar file: ${name}`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const put = (at: number, text: string) => header.write(text, at, 'latin1');
  put(0, name);
  put(100, `${MODE}\0`);
  put(108, '0000000\x000000000\0');
  put(124, `${octal(size)}\0${octal(Math.floor(modified.getTime() / 1000))}\0`);
  put(156, '0');
  put(257, MAGIC);
  put(CHECKSUM.at, `${checksumOf(header).toString(8).padStart(6, '0')}\0 `);
  return header;
}

const octal = (value: number): string => value.toString(8).padStart(11, '0');

/**
 * The member that a header tells of; null for a block of zeros.
 * @throws Error for any other header than those of `tarHeader`
 */
export function readTarHeader(header: Buffer): TarMember | null {
  if (header.every((byte) => byte === 0)) return null;
  const field = (at: number, length: number) =>
    (header.toString('latin1', at, at + length).split('\0', 1)[0] ?? '').trim();
  const isRegular = header.toString('latin1', 156, 157) === '0' && header.toString('latin1', 257, 265) === MAGIC;
  const size = field(124, 12);
  const isWhole = field(CHECKSUM.at, CHECKSUM.length) === checksumOf(header).toString(8).padStart(6, '0');
  if (!isRegular || !isWhole || !/^[0-7]{11}$/.test(size)) throw new Error('not a header of a regular file (ustar)');
  return { name: field(0, MAX_NAME), size: Number.parseInt(size, 8) };
}

/** The sum of all bytes, with blanks in place of the checksum. */
function checksumOf(header: Buffer): number {
  const { at, length } = CHECKSUM;
  return header.reduce((sum, byte, index) => sum + (index >= at && index < at + length ? 0x20 : byte), 0);
}
