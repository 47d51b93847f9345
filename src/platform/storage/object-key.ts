/**
 * Guards the drivers: a key is plain segments and an extension, such as `{tenant}/2026/11/{recording}.webm`, so that
 * it can neither leave the store's folder nor hide a file in it.
 * @throws Error for any other key; keys are made by the service, so that is a defect and nothing a client can cause.
 */
export function assertObjectKey(key: string): void {
  if (key.length > 512 || !/^[\w-]+(?:\/[\w-]+)*\.[a-z\d]+$/i.test(key)) {
    throw new Error(`Not a key of the object store: ${JSON.stringify(key)}`);
  }
}
