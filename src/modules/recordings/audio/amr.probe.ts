import { beginsMp4, MP4_MAGIC_BYTES } from '../../../platform/audio-formats.js';
import type { FileWindow } from './file-window.js';
import { probeM4a } from './m4a.probe.js';
import { type AudioFacts, NOTHING_KNOWN } from './audio-facts.js';

// RFC 4867 §5.1. Files of several channels have another magic number, and no decoder.
export const AMR_NARROWBAND = '#!AMR\n';
export const AMR_WIDEBAND = '#!AMR-WB\n';

// Bytes of a frame by its type, the byte of the header included (3GPP TS 26.101 and 26.201, annex A).
const NARROWBAND_BYTES = [13, 14, 16, 18, 20, 21, 27, 32, 6];
const WIDEBAND_BYTES = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6];
const FRAME_SECONDS = 0.02;

/** Two hours are 360,000 frames. */
const MAX_FRAMES = 1_500_000;

/** Counts the frames, which all last 20 ms. AMR in 3GP is measured as MP4. */
export async function probeAmr(window: FileWindow): Promise<AudioFacts> {
  await window.moveTo(0);
  if (beginsMp4(window.latin1(0, MP4_MAGIC_BYTES))) return await probeM4a(window);
  const isWideband = window.latin1(0, AMR_WIDEBAND.length) === AMR_WIDEBAND;
  const sizes = isWideband ? WIDEBAND_BYTES : NARROWBAND_BYTES;
  const start = isWideband ? AMR_WIDEBAND.length : AMR_NARROWBAND.length;
  let frames = 0;
  let position = start;
  while (position < window.size && frames < MAX_FRAMES) {
    if (!window.holds(position, 1)) await window.moveTo(position);
    // A type without a size has no data: nothing was sent, or was received.
    const length = sizes[(window.u8(position) >> 3) & 15] ?? 1;
    if (position + length > window.size) break;
    frames++;
    position += length;
  }
  if (frames === 0) return NOTHING_KNOWN;
  const durationSeconds = frames * FRAME_SECONDS;
  return {
    durationSeconds,
    sampleRate: isWideband ? 16_000 : 8000,
    channels: 1,
    bitRate: ((position - start) * 8) / durationSeconds,
    codec: isWideband ? 'amr_wb' : 'amr_nb',
  };
}
