import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import type { QueueOptions } from 'bull';
import { Redis } from 'ioredis';
import { Env } from '../config/env.js';
import { redisOptions } from './redis.service.js';

/** Opens Bull's connections, and closes them at the end: Bull itself closes only those that it opened in its own way. */
@Injectable()
export class BullConnectionsService implements OnApplicationShutdown {
  private readonly connections = new Set<Redis>();

  constructor(private readonly env: Env) {}

  readonly open: NonNullable<QueueOptions['createClient']> = (type) => {
    // Those that wait for jobs and events wait for a server, too; the one that adds jobs does not.
    const patient = { maxRetriesPerRequest: null, enableReadyCheck: false, enableOfflineQueue: true };
    const connection = new Redis(this.env.redisUrl, type === 'client' ? redisOptions : { ...redisOptions, ...patient });
    // Redis being away is reported once, by RedisService.
    connection.on('error', () => undefined);
    this.connections.add(connection);
    return connection;
  };

  onApplicationShutdown(): void {
    for (const connection of this.connections) connection.disconnect();
  }
}

@Module({ providers: [BullConnectionsService], exports: [BullConnectionsService] })
export class BullConnectionsModule {}
