/** A model could not be downloaded. The message is for an operator: what happened and what to do. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError';
}

/** The same request may succeed later: a broken connection, 408, 429 or 5xx. */
export class TransientSourceError extends SourceError {
  override readonly name = 'TransientSourceError';

  constructor(
    message: string,
    /** The wait that the source asks for; null when it does not say. */
    readonly retryAfterMs: number | null = null,
    /** Nothing answered: no address, no route, or a connection that was refused or cut. */
    readonly isUnreachable = false,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
