export class StorageUnavailable extends Error {
  override readonly name = 'StorageUnavailable';
}

export class ObjectMissing extends Error {
  override readonly name = 'ObjectMissing';
}
