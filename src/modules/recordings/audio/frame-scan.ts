import type { FileWindow } from './file-window.js';

/** What MP3 and AAC consist of: frames that follow each other, each with a header of its own, and no index of them. */
interface Frame {
  sampleRate: number;
  /** Bytes, header included. */
  length: number;
}

/** How the frames of a format are found. */
export interface FrameFormat<F extends Frame> {
  headerBytes: number;
  /** Bytes of the longest frame, and of the header of the next. */
  lookAhead: number;
  /** The frame at `position`, or null; its header must be in view. */
  read: (window: FileWindow, position: number) => F | null;
  /** Bytes of a tag between frames; 0 when there is none at `position`. */
  tagLength?: (window: FileWindow, position: number) => number;
}

/**
 * Bytes that are no frame, such as a tag or a damaged part, after which the search for frames stops. To search 1 MB that
 * looks like the beginnings of frames would hold the event loop for 600 ms.
 */
const MAX_JUNK_BYTES = 64 * 1024;

/** Skipping a tag costs about as much as searching this many bytes. */
const TAG_WORK = 512;

/** The least of MP3, and less than speech in AAC has. */
const LEAST_BIT_RATE = 8000;

/** Every header begins with it. */
const SYNC = Buffer.from([0xff]);

/**
 * Calls `take` with every whole frame from `start` on.
 * @returns for how many seconds the rest may last that was not looked at: never too few, so that junk hides no audio from
 *   a quota.
 */
export async function scanFrames<F extends Frame>(
  window: FileWindow,
  start: number,
  format: FrameFormat<F>,
  take: (frame: F, position: number) => void,
): Promise<number> {
  const { headerBytes, lookAhead, read, tagLength } = format;
  let inSync = false;
  let junk = 0;
  let position = start;
  while (position + headerBytes <= window.size && junk <= MAX_JUNK_BYTES) {
    if (!window.holds(position, lookAhead)) await window.moveTo(position);
    const frame = read(window, position);
    if (frame && position + frame.length <= window.size && (inSync || isFollowed(window, position, frame, format))) {
      take(frame, position);
      inSync = true;
      position += frame.length;
      continue;
    }
    inSync = false;
    const tag = tagLength?.(window, position) ?? 0;
    const next = tag > 0 ? position + tag : await window.seek(SYNC, position + 1);
    junk += tag > 0 ? TAG_WORK : next - position;
    position = next;
  }
  return junk > MAX_JUNK_BYTES ? (Math.max(0, window.size - position) * 8) / LEAST_BIT_RATE : 0;
}

/** A few set bits prove little: out of sync a frame counts when a similar one, or the end of the file, follows it. */
export function isFollowed<F extends Frame>(
  window: FileWindow,
  position: number,
  frame: F,
  { read }: Pick<FrameFormat<F>, 'read'>,
): boolean {
  const end = position + frame.length;
  return end === window.size || read(window, end)?.sampleRate === frame.sampleRate;
}
