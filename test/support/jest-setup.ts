/** Milliseconds for a test or a hook: enough to start the service or to transcribe on a busy machine. */
jest.setTimeout(240_000);
