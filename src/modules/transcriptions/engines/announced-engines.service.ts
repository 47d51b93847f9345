import { Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { RedisService } from '../../../platform/redis/redis.service.js';

/** An engine counts as running for this long after its worker has said so. */
const RUNNING_SECONDS = 15;
const ANNOUNCE_MS = (RUNNING_SECONDS / 3) * 1000;
const KEY = 'running-engines';
const TRANSLATING_KEY = 'translating-engines';

/** KEYS[1] engines by time  ARGV their names */
const ANNOUNCE = `
local now = redis.call('TIME')[1]
for i = 1, #ARGV do redis.call('ZADD', KEYS[1], now, ARGV[i]) end
redis.call('EXPIRE', KEYS[1], ${RUNNING_SECONDS})`;

const READ = `return redis.call('ZRANGEBYSCORE', KEYS[1], redis.call('TIME')[1] - ${RUNNING_SECONDS}, '+inf')`;

interface EnginesClient {
  announceEngines(key: string, ...names: string[]): Promise<unknown>;
  readEngines(key: string): Promise<string[]>;
}

/** The engines that the running workers have, which the workers tell through Redis, by its clock. */
@Injectable()
export class AnnouncedEnginesService {
  constructor(private readonly redis: RedisService) {
    redis.client.defineCommand('announceEngines', { numberOfKeys: 1, lua: ANNOUNCE });
    redis.client.defineCommand('readEngines', { numberOfKeys: 1, lua: READ });
  }

  /** From now on, until the function that it returns is called or the process ends. */
  announce(names: readonly string[], translating: () => readonly string[] = () => []): () => void {
    const announce = (): void => {
      void this.command((client) => client.announceEngines(KEY, ...names));
      void this.command((client) => client.announceEngines(TRANSLATING_KEY, ...translating()));
    };
    announce();
    const timer = setInterval(announce, ANNOUNCE_MS).unref();
    return () => clearInterval(timer);
  }

  /** Null while Redis is unavailable: then nobody knows. */
  async names(): Promise<string[] | null> {
    return await this.command((client) => client.readEngines(KEY));
  }

  /** False if engines run, and none of them translates. True also while nobody knows. */
  async mayTranslate(): Promise<boolean> {
    const translating = await this.command((client) => client.readEngines(TRANSLATING_KEY));
    if (translating === null || translating.length > 0) return true;
    return ((await this.names()) ?? []).length === 0;
  }

  private command<T>(run: (client: EnginesClient) => Promise<T>): Promise<T | null> {
    return this.redis.tryCommand((client: Redis) => run(client as unknown as EnginesClient));
  }
}
