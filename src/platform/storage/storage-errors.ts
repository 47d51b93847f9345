export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
  /** Of a failed put: no answer came, and the store may still be writing the object. */
  readonly mayArriveLate: boolean;

  constructor(message: string, { mayArriveLate = false, ...options }: ErrorOptions & { mayArriveLate?: boolean } = {}) {
    super(message, options);
    this.mayArriveLate = mayArriveLate;
  }
}

export class ObjectNotFoundError extends Error {
  override readonly name = 'ObjectNotFoundError';
}
