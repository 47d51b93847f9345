import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { RedisService } from '../redis/redis.service.js';

const TAKE = readFileSync(fileURLToPath(new URL('./shared-slots.lua', import.meta.url)), 'utf8');

/** Extends slots, also after Redis lost them. KEYS[1] slots  ARGV[1] milliseconds  ARGV[2…] the slots */
const RENEW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[i]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

/** Slots of a process that died are free again after this time. */
const SLOT_MS = 15_000;
const RENEW_MS = SLOT_MS / 3;

type Answer = [taken: 0 | 1, used: number];

interface SlotsClient {
  takeSlot(key: string, limit: number, ms: number, slot: string): Promise<Answer>;
  renewSlots(key: string, ms: number, ...slots: string[]): Promise<unknown>;
}

/** Frees a slot. Calling it again does nothing. */
export type ReleaseSlot = () => void;

/** Bounds what an account does at the same time, in all processes together. Without Redis each process counts its own. */
export class SharedSlots {
  /** Those of this process. */
  private readonly slots = new Map<string, Set<string>>();
  private readonly renewal: NodeJS.Timeout;

  /** @param prefix of the keys in Redis. */
  constructor(
    private readonly redis: RedisService,
    private readonly prefix: string,
  ) {
    redis.client.defineCommand('takeSlot', { numberOfKeys: 1, lua: TAKE });
    redis.client.defineCommand('renewSlots', { numberOfKeys: 1, lua: RENEW });
    this.renewal = setInterval(() => this.renew(), RENEW_MS).unref();
  }

  /** @returns a function that frees the slot, or the number of slots in use when all are taken. */
  async take(accountId: string, limit: number): Promise<ReleaseSlot | number> {
    const slot = randomUUID();
    const answer = await this.command((client) => client.takeSlot(this.keyOf(accountId), limit, SLOT_MS, slot));
    const own = this.slots.get(accountId) ?? new Set<string>();
    const [taken, used] = answer ?? [own.size < limit ? 1 : 0, own.size];
    if (taken === 0) return used;
    this.slots.set(accountId, own.add(slot));
    return () => this.free(accountId, slot);
  }

  /** Slots of an account that are taken. */
  async count(accountId: string): Promise<number> {
    const answer = await this.command((client) => client.takeSlot(this.keyOf(accountId), 0, SLOT_MS, ''));
    return answer?.[1] ?? this.slots.get(accountId)?.size ?? 0;
  }

  stop(): void {
    clearInterval(this.renewal);
  }

  private free(accountId: string, slot: string): void {
    const own = this.slots.get(accountId);
    if (!own?.delete(slot)) return;
    if (own.size === 0) this.slots.delete(accountId);
    void this.redis.tryCommand((client) => client.zrem(this.keyOf(accountId), slot));
  }

  private renew(): void {
    for (const [accountId, own] of this.slots) {
      void this.command((client) => client.renewSlots(this.keyOf(accountId), SLOT_MS, ...own));
    }
  }

  private command<T>(send: (client: SlotsClient) => Promise<T>): Promise<T | null> {
    return this.redis.tryCommand((client) => send(client as unknown as SlotsClient));
  }

  private keyOf(accountId: string): string {
    return `${this.prefix}:${accountId}`;
  }
}
