import { join } from 'node:path';
import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env } from '../config/env.js';
import { DiskObjectStore } from './disk.object-store.js';
import { ObjectRemoval } from './object-removal.entity.js';
import { ObjectRemovalsService } from './object-removals.service.js';
import { ObjectStore } from './object-store.js';
import { Spool } from './spool.js';

/** Provides the object store that the environment names, and the spool. Boot fails when a folder cannot be created. */
@Global()
@Module({
  imports: [TypeOrmModule.forFeature([ObjectRemoval])],
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
    // Loaded on demand: the client library takes 0.3 s to load, and the disk store does not need it.
    const { S3ObjectStore } = await import('./s3.object-store.js');
    return new S3ObjectStore(env, spool);
  }
  const store = new DiskObjectStore(join(env.storageDir, 'objects'), env.s3Bucket);
  await store.prepare();
  return store;
}
