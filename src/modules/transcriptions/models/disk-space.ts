import { stat, statfs } from 'node:fs/promises';
import { errorCode } from '../../../platform/storage/file-system.js';

/** Free bytes of the file system of a folder, for users other than root. */
export async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Null when there is no such file. */
export async function sizeOf(file: string): Promise<number | null> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}
