import { setTimeout as delay } from 'node:timers/promises';
import type { OnApplicationShutdown } from '@nestjs/common';
import Bull from 'bull';
import type { Redis } from 'ioredis';
import type { Env } from '../config/env.js';
import { RedisConnection } from '../redis/redis-connection.js';
import type { RedisService } from '../redis/redis.service.js';

/** Job data: the id of a row. Its values make up the job id. */
export type JobData = Record<string, string>;

interface EnqueueOptions {
  /** A job with the same data and key is dropped while the first one still waits. */
  deduplicationKey: string | number;
}

/** A waiting job blocks duplicates for this long; after that the same row may be enqueued again. */
const DEDUPLICATION_WINDOW_MS = 300_000;
/**
 * A job is a wake-up: with so many waiting, one more is of no use. So Redis does not fill up while nobody takes jobs, and
 * who starts then finds in Postgres what no job names.
 */
const MAX_JOBS = 1000;
/** With a hash tag, so that all keys of a queue lie in one slot of Redis Cluster. */
const PREFIX = '{bull}';
/** Closing a queue sends commands to Redis. On shutdown their answers are awaited for this long. */
const CLOSE_MS = 1000;
/** Jobs of a frozen or dead process are noticed after at most twice this long; until then they block duplicates. */
const STALLED_INTERVAL_MS = 5000;
/**
 * Each consumer blocks on Redis for this long per request. A frozen process keeps taking jobs until then, and a connection
 * that the network has lost is noticed soon after (`RedisConnection`).
 */
const DRAIN_DELAY_SECONDS = 1;

/**
 * A Bull queue whose jobs only name a row to look at. Postgres is the record: a job may get lost, and workers also look
 * there by themselves. Therefore finished jobs are not kept and stalled ones are not retried.
 */
export class JobQueue<Data extends JobData = JobData> extends Bull<Data> implements OnApplicationShutdown {
  private readonly connections: Redis[];
  private readonly redisService: RedisService;

  constructor(name: string, env: Env, redisService: RedisService) {
    const connections: Redis[] = [];
    super(name, {
      prefix: PREFIX,
      createClient: (type) => {
        const connection = openConnection(env, type);
        connections.push(connection);
        return connection;
      },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
      settings: { maxStalledCount: 0, stalledInterval: STALLED_INTERVAL_MS, drainDelay: DRAIN_DELAY_SECONDS },
    });
    this.connections = connections;
    this.redisService = redisService;
  }

  /** Adds a job, unless many wait already, or Redis is unavailable. Never rejects. */
  async enqueue(data: Data, { deduplicationKey }: EnqueueOptions): Promise<void> {
    const window = Math.floor(Date.now() / DEDUPLICATION_WINDOW_MS);
    const jobId = [...Object.values(data), deduplicationKey, window].join('-');
    await this.redisService.tryCommand(async () => {
      if ((await this.getWaitingCount()) < MAX_JOBS) await this.add(data, { jobId });
    });
  }

  /** Bull waits for Redis, and its promise rejects when the process stops first. @nestjs/bull does not catch that. */
  override async process(...definition: unknown[]): Promise<void> {
    const start = super.process.bind(this) as (...parameters: unknown[]) => Promise<void>;
    await start(...definition).catch(() => undefined);
  }

  /** Not used: Bull does not catch its error when Redis is unavailable at shutdown. */
  override async setWorkerName(): Promise<void> {}

  async onApplicationShutdown(): Promise<void> {
    const closed = this.close().catch(() => undefined);
    await Promise.race([closed, delay(CLOSE_MS, null, { ref: false })]);
    // Bull leaves the connections of `createClient` open.
    for (const connection of this.connections) connection.disconnect();
  }
}

/** The connections that wait for jobs and events also wait for Redis; the one that adds jobs fails at once. */
function openConnection(env: Env, type: 'client' | 'subscriber' | 'bclient'): Redis {
  const waiting = { maxRetriesPerRequest: null, enableReadyCheck: false, enableOfflineQueue: true };
  const connection = new RedisConnection(env, type === 'client' ? {} : waiting);
  // RedisService logs it when Redis becomes unavailable.
  connection.on('error', () => undefined);
  return connection;
}
