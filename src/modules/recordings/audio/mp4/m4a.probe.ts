import type { FileWindow } from '../formats/file-window.js';
import type { AudioFacts } from '../probes/audio-facts.js';
import { BOX_HEADER_BYTES, type Mp4Box, readBox } from './mp4-boxes.js';
import { Mp4Reading } from './mp4-reading.js';
import { SAMPLE_DESCRIPTION_BYTES } from './sample-entry.js';

/** In boxes: two hours in fragments of 100 ms, each of seven boxes, are 500,000. */
const MAX_BOXES = 1_000_000;

/** Read without moving the window: a header, and what is taken from a box. */
const LOOK_AHEAD = 16 + SAMPLE_DESCRIPTION_BYTES;

/**
 * Measures the first audio track by its table of samples and its fragments. Lengths that the headers state are ignored:
 * those of a live recording are 0.
 */
export async function probeM4a(window: FileWindow): Promise<AudioFacts> {
  const reading = new Mp4Reading(window);
  await walk(window, reading, () => false);
  return reading.facts();
}

/** Codec of the first audio track, as ffmpeg names it; null when it is not known. */
export async function mp4Codec(window: FileWindow): Promise<string | null> {
  const reading = new Mp4Reading(window);
  await walk(window, reading, () => reading.knowsCodec);
  return reading.facts().codec;
}

/** Goes forward through the boxes, into those that matter: the file is read at most once, and no deeper than five. */
async function walk(window: FileWindow, reading: Mp4Reading, isDone: () => boolean): Promise<void> {
  const open: Mp4Box[] = [];
  let position = 0;
  for (let boxes = 0; boxes < MAX_BOXES && !isDone(); boxes++) {
    let parent = open.at(-1);
    while (parent && position + BOX_HEADER_BYTES > parent.end) {
      position = parent.end;
      open.pop();
      parent = open.at(-1);
    }
    const limit = parent?.end ?? window.size;
    if (position + BOX_HEADER_BYTES > limit) return;
    if (!window.holds(position, LOOK_AHEAD)) await window.moveTo(position);
    const box = readBox(window, position, limit);
    if (!box) {
      position = limit;
    } else if (reading.enter(parent?.type ?? '', box)) {
      open.push(box);
      position = box.data;
    } else {
      await reading.take(parent?.type ?? '', box);
      position = box.end;
    }
  }
}
