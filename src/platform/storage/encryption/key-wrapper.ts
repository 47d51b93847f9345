/** What encrypts the keys of accounts: a key of the operator, or a service for keys. */
export interface KeyWrapper {
  /** @param context binds the text to its row. @throws StorageUnavailableError */
  wrap(key: Buffer, context: string): Promise<string>;
  /** Whether this wrapper can unwrap the text. */
  canUnwrap(text: string): boolean;
  /** @throws StorageUnavailableError; Error when the text was changed or is of another row */
  unwrap(text: string, context: string): Promise<Buffer>;
  /** Wraps anew what it can unwrap, without giving away the key. Where it is absent, the key is unwrapped and wrapped. */
  rewrap?(text: string, context: string): Promise<string>;
  /** The beginning of what it wraps now, up to the end of the name of the key. @throws StorageUnavailableError */
  currentPrefix(): Promise<string>;
  close?(): Promise<void>;
}
