/** The format of decoded audio everywhere: 16 kHz, mono, signed 16-bit little-endian. */
export const SAMPLES_PER_SECOND = 16_000;
export const BYTES_PER_SAMPLE = 2;
export const BYTES_PER_SECOND = SAMPLES_PER_SECOND * BYTES_PER_SAMPLE;
