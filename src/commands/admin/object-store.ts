import { join } from 'node:path';
import type { INestApplicationContext, OnApplicationShutdown } from '@nestjs/common';
import { addedBy, type Extension } from '../../extension.js';
import { Env } from '../../platform/config/env.js';
import { EncryptedObjectStore } from '../../platform/storage/encryption/encrypted.object-store.js';
import { StorageKeysService } from '../../platform/storage/encryption/storage-keys.service.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import { Spool } from '../../platform/storage/spool.js';
import { selectObjectStore } from '../../platform/storage/storage.module.js';

type Use<T> = (store: ObjectStore, spool: Spool) => Promise<T>;

/** Runs `use` with the store that the environment names, as its definition opens it: bytes are read and written as they are stored. */
export async function withStoredBytes<T>(env: Env, extensions: Extension[], use: Use<T>): Promise<T> {
  const spool = new Spool(join(env.storageDir, 'spool'));
  const definition = selectObjectStore(env, addedBy(extensions, 'objectStores'));
  const store: ObjectStore & Partial<OnApplicationShutdown> = await definition.open(env, spool);
  try {
    return await use(store, spool);
  } finally {
    await store.onApplicationShutdown?.();
  }
}

/** The same with encryption, as the service has it, and a spool that is ready. */
export async function withAudio<T>(app: INestApplicationContext, extensions: Extension[], use: Use<T>): Promise<T> {
  const env = app.get(Env);
  return await withStoredBytes(env, extensions, async (raw, spool) => {
    await spool.prepare();
    const keys = app.get(StorageKeysService);
    return await use(new EncryptedObjectStore(raw, keys, spool, env.storageEncryption !== 'off'), spool);
  });
}
