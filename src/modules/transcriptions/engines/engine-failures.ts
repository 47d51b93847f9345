import { AudioRejectedError, EngineUnavailableError } from './transcription-engine.js';

/** For clients. */
export const tooLong = (seconds: number | undefined): string =>
  `The recording is longer than the maximum of ${seconds} seconds.`;

/** One engine did not transcribe this audio. Another one may. */
export class EngineFailureError extends Error {
  override readonly name = 'EngineFailureError';

  /** @param original what the engine threw: what counts when there is no other engine. */
  constructor(readonly original: Error) {
    super(original.message, { cause: original });
  }
}

/** The decoded audio is longer than the chain allows for this engine. */
export class TooLongForEngineError extends EngineFailureError {
  constructor(seconds: number | undefined) {
    super(new AudioRejectedError(tooLong(seconds)));
  }
}

/** No engine that may transcribe the recording works now. */
export class NoEngineError extends EngineUnavailableError {
  /**
   * @param message what is wrong with each engine, for an operator.
   * @param waitSeconds until the first of them is tried again.
   * @param wasTried whether an engine was given the recording.
   */
  constructor(
    message: string,
    readonly waitSeconds: number,
    readonly wasTried: boolean,
  ) {
    super(message);
  }
}
