/** Milliseconds for a test that starts the service or waits for a transcription, on a busy machine. */
export const SERVICE_TIMEOUT = 120_000;
