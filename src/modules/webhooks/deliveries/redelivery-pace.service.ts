import { Injectable } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';
import { RedisService } from '../../../platform/redis/redis.service.js';

/** When redeliveries may be sent: the first in so many seconds (negative: they have waited), then one each interval. */
export interface Pace {
  startSeconds: number;
  intervalSeconds: number;
}

/** Redeliveries of so many seconds may be sent at once by who has sent none before. */
const BURST_SECONDS = 5;

/**
 * Takes a place for redeliveries behind those of before. KEYS[1] when the last of them is sent, in ms of the clock of Redis
 * ARGV[1] milliseconds for all of the new ones  ARGV[2] of the burst. Returns the milliseconds until the first.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local start = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now - ARGV[2])
local last = start + ARGV[1]
redis.call('SET', KEYS[1], string.format('%.3f', last), 'PX', math.ceil(math.max(last - now, 0) + ARGV[2]))
return tostring(start - now)`;

interface PaceClient {
  takePlaces(key: string, ms: number, burstMs: number): Promise<string>;
}

/**
 * Bounds how fast an account has events sent again to one destination, whatever number of calls and webhooks it uses:
 * otherwise the service could be used to flood a receiver (D39).
 */
@Injectable()
export class RedeliveryPaceService {
  constructor(
    private readonly env: Env,
    private readonly redis: RedisService,
  ) {
    redis.client.defineCommand('takePlaces', { numberOfKeys: 1, lua: TAKE });
  }

  /** Reserves the time of `count` redeliveries. Without Redis each call begins at once, at the same rate. */
  async take(accountId: string, url: string, count: number): Promise<Pace> {
    return { startSeconds: await this.add(accountId, url, count), intervalSeconds: 1 / this.env.redeliveriesPerSecond };
  }

  /** One that was reserved and is not sent. */
  async giveBack(accountId: string, url: string): Promise<void> {
    await this.add(accountId, url, -1);
  }

  private async add(accountId: string, url: string, count: number): Promise<number> {
    const ms = (count * 1000) / this.env.redeliveriesPerSecond;
    const key = `redeliveries:${accountId}:${new URL(url).host}`;
    const waitMs = await this.redis.tryCommand((client) =>
      (client as unknown as PaceClient).takePlaces(key, ms, BURST_SECONDS * 1000),
    );
    return Number(waitMs ?? 0) / 1000;
  }
}
