import { join } from 'node:path';
import { type DynamicModule, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Env } from '../config/env.js';
import { ObjectRemoval } from './removals/object-removal.entity.js';
import { ObjectRemovalsService } from './removals/object-removals.service.js';
import { DiskSpaceService } from './disk-space.service.js';
import { ObjectStore, type ObjectStoreDefinition } from './object-store.js';
import { Spool } from './spool.js';

/** Provides the object store that the environment names, and the spool. Boot fails when a folder cannot be created. */
@Module({})
export class StorageModule {
  static forRoot(store: ObjectStoreDefinition): DynamicModule {
    return {
      module: StorageModule,
      global: true,
      imports: [TypeOrmModule.forFeature([ObjectRemoval])],
      providers: [
        { provide: Spool, inject: [Env], useFactory: openSpool },
        { provide: ObjectStore, inject: [Env, Spool], useFactory: (env: Env, spool: Spool) => store.open(env, spool) },
        ObjectRemovalsService,
        DiskSpaceService,
      ],
      exports: [ObjectStore, Spool, ObjectRemovalsService, DiskSpaceService],
    };
  }
}

async function openSpool(env: Env): Promise<Spool> {
  const spool = new Spool(join(env.storageDir, 'spool'));
  await spool.prepare();
  return spool;
}
