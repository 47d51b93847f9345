import { ADTS_HEADER_BYTES, type AdtsFrame, isFollowedByAdts, readAdtsFrame } from '../formats/adts-frame.js';
import type { FileWindow } from '../formats/file-window.js';
import { skipId3Tags } from '../formats/id3-tags.js';
import { type AudioFacts, longestSeconds, MAX_JUNK_BYTES, NOTHING_KNOWN } from './audio-facts.js';

/** The longest frame, 8191 bytes, and the header of the next. */
const LOOK_AHEAD = 8192 + ADTS_HEADER_BYTES;

const SYNC = Buffer.from([0xff]);

/** Counts all frames of AAC in ADTS, which has no other header. */
export async function probeAac(window: FileWindow): Promise<AudioFacts> {
  let position = await skipId3Tags(window);
  let first: AdtsFrame | null = null;
  let [seconds, bytes, junk] = [0, 0, 0];
  let inSync = false;
  while (position + ADTS_HEADER_BYTES <= window.size && junk <= MAX_JUNK_BYTES) {
    if (!window.holds(position, LOOK_AHEAD)) await window.moveTo(position);
    const frame = readAdtsFrame(window, position);
    if (frame && position + frame.length <= window.size && (inSync || isFollowedByAdts(window, position, frame))) {
      first ??= frame;
      seconds += frame.samples / frame.sampleRate;
      bytes += frame.length;
      inSync = true;
      position += frame.length;
      continue;
    }
    inSync = false;
    const next = await window.seek(SYNC, position + 1);
    junk += next - position;
    position = next;
  }
  if (!first) return NOTHING_KNOWN;
  const { sampleRate, channels } = first;
  const restSeconds = junk > MAX_JUNK_BYTES ? longestSeconds(window.size - position) : 0;
  const bitRate = restSeconds > 0 ? null : (bytes * 8) / seconds;
  return { durationSeconds: seconds + restSeconds, sampleRate, channels, bitRate, codec: 'aac' };
}
