import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ConcurrentUploadsError } from '../../../platform/errors/errors.js';
import { RedisService } from '../../../platform/queue/redis.service.js';
import { QuotaRefusalsService } from './quota-refusals.service.js';

const TAKE = readFileSync(fileURLToPath(new URL('./upload-places.lua', import.meta.url)), 'utf8');

/** Moves the end of one place, also after Redis lost it. KEYS[1] places  ARGV[1] milliseconds  ARGV[2] the place */
const RENEW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/** Places of a process that died are free again after this time. */
const PLACE_MS = 15_000;
const RENEW_MS = PLACE_MS / 3;

type Answer = [taken: 0 | 1, used: number];

interface PlacesClient {
  takeUploadPlace(key: string, limit: number, ms: number, place: string): Promise<Answer>;
  renewUploadPlace(key: string, ms: number, place: string): Promise<unknown>;
}

/** Ends an upload's place. Calling it again does nothing. */
export type FreePlace = () => void;

/**
 * Uploads under way, by account, of all processes together: a place in Redis for each. While Redis is unavailable each
 * process counts its own.
 */
@Injectable()
export class UploadPlacesService implements OnApplicationShutdown {
  /** The places of this process. */
  private readonly places = new Map<string, Set<string>>();
  private readonly renewal: NodeJS.Timeout;

  constructor(
    private readonly redis: RedisService,
    private readonly refusals: QuotaRefusalsService,
  ) {
    redis.client.defineCommand('takeUploadPlace', { numberOfKeys: 1, lua: TAKE });
    redis.client.defineCommand('renewUploadPlace', { numberOfKeys: 1, lua: RENEW });
    this.renewal = setInterval(() => this.renew(), RENEW_MS).unref();
  }

  /** @param limit null: unlimited. @throws ConcurrentUploadsError */
  async take(accountId: string, limit: number | null): Promise<FreePlace> {
    if (limit === null) return () => undefined;
    const place = randomUUID();
    const answer = await this.command((client) => client.takeUploadPlace(keyOf(accountId), limit, PLACE_MS, place));
    const own = this.places.get(accountId) ?? new Set<string>();
    const [taken, used] = answer ?? [own.size < limit ? 1 : 0, own.size];
    if (taken === 0) {
      this.refusals.count('concurrent_uploads');
      throw new ConcurrentUploadsError(limit, used);
    }
    this.places.set(accountId, own.add(place));
    return () => this.free(accountId, place);
  }

  /** Uploads of an account that are under way. */
  async count(accountId: string): Promise<number> {
    const answer = await this.command((client) => client.takeUploadPlace(keyOf(accountId), 0, PLACE_MS, ''));
    return answer?.[1] ?? this.places.get(accountId)?.size ?? 0;
  }

  onApplicationShutdown(): void {
    clearInterval(this.renewal);
  }

  private free(accountId: string, place: string): void {
    const own = this.places.get(accountId);
    if (!own?.delete(place)) return;
    if (own.size === 0) this.places.delete(accountId);
    void this.redis.tryCommand((client) => client.zrem(keyOf(accountId), place));
  }

  private renew(): void {
    for (const [accountId, own] of this.places) {
      for (const place of own) {
        void this.command((client) => client.renewUploadPlace(keyOf(accountId), PLACE_MS, place));
      }
    }
  }

  private command<T>(send: (client: PlacesClient) => Promise<T>): Promise<T | null> {
    return this.redis.tryCommand((client) => send(client as unknown as PlacesClient));
  }
}

const keyOf = (accountId: string): string => `uploads:${accountId}`;
