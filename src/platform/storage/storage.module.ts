import { join } from 'node:path';
import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env, InvalidEnvironmentError } from '../config/env.js';
import { DiskSpaceService } from './disk-space.service.js';
import { DiskObjectStore } from './disk.object-store.js';
import { EncryptedObjectStore } from './encryption/encrypted.object-store.js';
import { StorageKey } from './encryption/storage-key.entity.js';
import { StorageKeysService } from './encryption/storage-keys.service.js';
import { ObjectStore, type ObjectStoreDefinition } from './object-store.js';
import { ObjectRemoval } from './object-removal.entity.js';
import { ObjectRemovalsService } from './object-removals.service.js';
import { Spool } from './spool.js';

/** Provides the object store that the environment names, and the spool. Boot fails when a folder cannot be created. */
@Module({})
export class StorageModule {
  static forRoot(store: ObjectStoreDefinition): DynamicModule {
    return {
      module: StorageModule,
      global: true,
      imports: [TypeOrmModule.forFeature([ObjectRemoval, StorageKey])],
      providers: [
        { provide: Spool, inject: [Env], useFactory: openSpool },
        StorageKeysService,
        {
          provide: ObjectStore,
          inject: [Env, Spool, StorageKeysService],
          useFactory: async (env: Env, spool: Spool, keys: StorageKeysService) =>
            new EncryptedObjectStore(await store.open(env, spool), keys, spool, env.storageEncryption !== 'off'),
        },
        ObjectRemovalsService,
        DiskSpaceService,
      ],
      exports: [ObjectStore, Spool, StorageKeysService, ObjectRemovalsService, DiskSpaceService],
    };
  }
}

/** The object store that STORAGE_DRIVER names. @throws InvalidEnvironmentError when the name is unknown. */
export function selectObjectStore(env: Env, added: readonly ObjectStoreDefinition[]): ObjectStoreDefinition {
  const stores = [DISK, S3, ...added];
  const store = stores.find(({ name }) => name === env.storageDriver);
  if (store) return store;
  throw new InvalidEnvironmentError([`STORAGE_DRIVER must be one of ${stores.map(({ name }) => name).join(', ')}`]);
}

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
    const { S3ObjectStore } = await import('./s3.object-store.js');
    return new S3ObjectStore(env, spool);
  },
};

async function openSpool(env: Env): Promise<Spool> {
  const spool = new Spool(join(env.storageDir, 'spool'));
  await spool.prepare();
  return spool;
}
