import { join } from 'node:path';
import { Global, Module } from '@nestjs/common';
import { Env } from '../config/env.js';
import { DiskObjectStore } from './disk.object-store.js';
import { ObjectRemovalsService } from './object-removals.service.js';
import { ObjectStore } from './object-store.js';
import { Spool } from './spool.js';

/** Gives every room the object store that the environment chose, and the spool. Boot fails where a folder cannot be made. */
@Global()
@Module({
  providers: [
    { provide: Spool, inject: [Env], useFactory: openSpool },
    { provide: ObjectStore, inject: [Env, Spool], useFactory: openStore },
    ObjectRemovalsService,
  ],
  exports: [ObjectStore, Spool, ObjectRemovalsService],
})
export class StorageModule {}

async function openSpool(env: Env): Promise<Spool> {
  const spool = new Spool(join(env.storageDir, 'spool'));
  await spool.prepare();
  return spool;
}

async function openStore(env: Env, spool: Spool): Promise<ObjectStore> {
  if (env.storageDriver === 's3') {
    // Loaded on demand: the client library costs 0.3 s of every start and is of no use to a disk.
    const { S3ObjectStore } = await import('./s3.object-store.js');
    return new S3ObjectStore(env, spool);
  }
  const store = new DiskObjectStore(join(env.storageDir, 'objects'), env.s3Bucket);
  await store.prepare();
  return store;
}
