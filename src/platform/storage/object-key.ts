/** The first segment of keys, such as the id of an account. @throws Error for any other text. */
export function assertKeyPrefix(prefix: string): void {
  if (!/^[\w-]{1,64}$/.test(prefix)) throw new Error(`Invalid key prefix: ${JSON.stringify(prefix)}`);
}

/**
 * A key is plain segments and an extension, such as `{tenant}/2026/11/{recording}.webm`. It can neither leave the
 * store's folder nor name a hidden file in it.
 * @throws Error for any other key. The service makes the keys, so that is a defect of the service.
 */
export function assertObjectKey(key: string): void {
  if (key.length > 512 || !/^[\w-]+(?:\/[\w-]+)*\.[a-z\d]+$/i.test(key)) {
    throw new Error(`Invalid object key: ${JSON.stringify(key)}`);
  }
}
