import { join } from 'node:path';
import { type Env, InvalidEnvironmentError } from '../config/env.js';
import { DiskObjectStore } from './disk.object-store.js';
import type { ObjectStoreDefinition } from './object-store.js';

const DISK: ObjectStoreDefinition = {
  name: 'disk',
  async open(env) {
    const store = new DiskObjectStore(join(env.storageDir, 'objects'), env.s3Bucket);
    await store.prepare();
    return store;
  },
};

const S3: ObjectStoreDefinition = {
  name: 's3',
  async open(env, spool) {
    // Loaded on demand: the client library takes 0.3 s to load, and the disk store does not need it.
    const { S3ObjectStore } = await import('./s3/s3.object-store.js');
    return new S3ObjectStore(env, spool);
  },
};

/** The object store that STORAGE_DRIVER names. @throws InvalidEnvironmentError when the name is unknown. */
export function selectObjectStore(env: Env, added: readonly ObjectStoreDefinition[]): ObjectStoreDefinition {
  const stores = [DISK, S3, ...added];
  const store = stores.find(({ name }) => name === env.storageDriver);
  if (store) return store;
  throw new InvalidEnvironmentError([`STORAGE_DRIVER must be one of ${stores.map(({ name }) => name).join(', ')}`]);
}
