import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RedisService } from '../queue/redis.service.js';

const TAKE = readFileSync(fileURLToPath(new URL('./places.lua', import.meta.url)), 'utf8');

/** Moves the end of places, also after Redis lost them. KEYS[1] places  ARGV[1] milliseconds  ARGV[2…] the places */
const RENEW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/** Places of a process that died are free again after this time. */
const PLACE_MS = 15_000;
const RENEW_MS = PLACE_MS / 3;

type Answer = [taken: 0 | 1, used: number];

interface PlacesClient {
  takePlace(key: string, limit: number, ms: number, place: string): Promise<Answer>;
  renewPlaces(key: string, ms: number, ...places: string[]): Promise<unknown>;
}

/** Ends a place. Calling it again does nothing. */
export type FreePlace = () => void;

/**
 * What an account does at the same time, in all processes together: a place in Redis for each. While Redis is unavailable
 * each process counts its own.
 */
export class Places {
  /** Those of this process. */
  private readonly places = new Map<string, Set<string>>();
  private readonly renewal: NodeJS.Timeout;

  /** @param prefix of the keys in Redis. */
  constructor(
    private readonly redis: RedisService,
    private readonly prefix: string,
  ) {
    redis.client.defineCommand('takePlace', { numberOfKeys: 1, lua: TAKE });
    redis.client.defineCommand('renewPlaces', { numberOfKeys: 1, lua: RENEW });
    this.renewal = setInterval(() => this.renew(), RENEW_MS).unref();
  }

  /** @returns how to free the place; when all are taken, how many that is. */
  async take(accountId: string, limit: number): Promise<FreePlace | number> {
    const place = randomUUID();
    const answer = await this.command((client) => client.takePlace(this.keyOf(accountId), limit, PLACE_MS, place));
    const own = this.places.get(accountId) ?? new Set<string>();
    const [taken, used] = answer ?? [own.size < limit ? 1 : 0, own.size];
    if (taken === 0) return used;
    this.places.set(accountId, own.add(place));
    return () => this.free(accountId, place);
  }

  /** Places of an account that are taken. */
  async count(accountId: string): Promise<number> {
    const answer = await this.command((client) => client.takePlace(this.keyOf(accountId), 0, PLACE_MS, ''));
    return answer?.[1] ?? this.places.get(accountId)?.size ?? 0;
  }

  stop(): void {
    clearInterval(this.renewal);
  }

  private free(accountId: string, place: string): void {
    const own = this.places.get(accountId);
    if (!own?.delete(place)) return;
    if (own.size === 0) this.places.delete(accountId);
    void this.redis.tryCommand((client) => client.zrem(this.keyOf(accountId), place));
  }

  private renew(): void {
    for (const [accountId, own] of this.places) {
      void this.command((client) => client.renewPlaces(this.keyOf(accountId), PLACE_MS, ...own));
    }
  }

  private command<T>(send: (client: PlacesClient) => Promise<T>): Promise<T | null> {
    return this.redis.tryCommand((client) => send(client as unknown as PlacesClient));
  }

  private keyOf(accountId: string): string {
    return `${this.prefix}:${accountId}`;
  }
}
