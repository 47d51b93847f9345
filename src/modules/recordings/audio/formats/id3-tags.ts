import type { FileWindow } from './file-window.js';
import { id3v2Length } from './mpeg-frame.js';

/** Some taggers put a new tag before the old one; players follow only a few. */
const MAX_ID3_TAGS = 8;

/** Moves behind the ID3v2 tags at the start of the file. @returns that position */
export async function skipId3Tags(window: FileWindow): Promise<number> {
  let position = 0;
  if (!window.holds(0, 16)) await window.moveTo(0);
  for (let tags = 0; tags <= MAX_ID3_TAGS; tags++) {
    const tag = id3v2Length(window, position);
    if (tag === 0) break;
    position += tag;
    await window.moveTo(position);
  }
  return position;
}
