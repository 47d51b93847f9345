export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
  /** Whether no answer to a put came: the store may still be writing the object. */
  readonly mayArriveLate: boolean;

  constructor(message: string, { mayArriveLate = false, ...options }: ErrorOptions & { mayArriveLate?: boolean } = {}) {
    super(message, options);
    this.mayArriveLate = mayArriveLate;
  }
}

export class ObjectNotFoundError extends Error {
  override readonly name = 'ObjectNotFoundError';
}
