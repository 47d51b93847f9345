/** Opus always decodes at this rate, whatever was recorded (RFC 7845 §5.1). */
export const OPUS_RATE = 48_000;

/** RFC 6716 §3.2.5, R5: 120 ms. A packet that claims more is not Opus and decodes to nothing. */
const MAX_SAMPLES = 5760;

// RFC 6716 §3.1, table 2, in samples at 48 kHz.
const SILK_SAMPLES = [480, 960, 1920, 2880];
const HYBRID_SAMPLES = [480, 960];
const CELT_SAMPLES = [120, 240, 480, 960];

/** Samples at 48 kHz in a packet, from its first byte (the TOC) and, for a packet of several frames, its second. */
export function opusPacketSamples(length: number, toc: number, second: number): number {
  if (length < 1) return 0;
  const config = toc >> 3;
  const frame =
    (config < 12 ? SILK_SAMPLES[config & 3] : config < 16 ? HYBRID_SAMPLES[config & 1] : CELT_SAMPLES[config & 3]) ?? 0;
  const code = toc & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : length > 1 ? second & 0x3f : 0;
  const samples = frame * frames;
  return samples <= MAX_SAMPLES ? samples : 0;
}
