import { open } from 'node:fs/promises';
import {
  AUDIO_FORMATS,
  type AudioContainer,
  type AudioFormat,
  beginsMp4,
  MP4_CONTAINER,
  MP4_MAGIC_BYTES,
} from '../../../platform/audio-formats.js';

/** The container of a file, which AMR has two of. @throws errors of the file system */
export async function containerOf(format: AudioFormat, file: string): Promise<AudioContainer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MP4_MAGIC_BYTES), 0, MP4_MAGIC_BYTES, 0);
    const isMp4 = beginsMp4(buffer.toString('latin1', 0, bytesRead));
    const own = AUDIO_FORMATS[format];
    return format === 'amr' && isMp4 ? { ...own, ...MP4_CONTAINER } : own;
  } finally {
    await handle.close();
  }
}
