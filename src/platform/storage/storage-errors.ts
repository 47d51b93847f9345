export class StorageUnavailableError extends Error {
  override readonly name = 'StorageUnavailableError';
}

export class ObjectNotFoundError extends Error {
  override readonly name = 'ObjectNotFoundError';
}
