import { Injectable } from '@nestjs/common';
import { Env } from '../../../platform/config/env.js';

/** Whom an attempt is for, and where it goes. */
export interface Destination {
  accountId: string;
  /** Host name of the URL, without its port. */
  host: string;
  /** Whether the webhook's last attempt failed. */
  isFailing: boolean;
}

/** The right to one connection. */
export interface Slot {
  release(): void;
}

interface Waiter {
  destination: Destination;
  grant: (slot: Slot) => void;
}

/** Webhooks whose last attempt failed have this share of all connections, and of those to one host. */
const FAILING_SHARE = 1 / 4;
/**
 * An account may hold this share of the free connections, but at least one. So 20 accounts that take all they can leave
 * 30 % of all connections free, and 10 % of those to one host.
 */
const ACCOUNT_SHARE = 1 / 16;
const ACCOUNT_SHARE_OF_HOST = 1 / 8;
/** With this many waiters, slots are granted in passes PASS_MS apart, because a pass goes through all of them. */
const MANY_WAITERS = 200;
const PASS_MS = 20;

/**
 * Limits the connections of this process, in all and for each host, so that no endpoint delays a webhook of another
 * account. What an account may hold depends on what is free (the dynamic threshold of Choudhury and Hahne 1998), which
 * leaves room for the next account.
 */
@Injectable()
export class DeliverySlots {
  private readonly all: Pool;
  private readonly failing: Pool;
  private readonly hosts = new Map<string, { all: Pool; failing: Pool }>();
  private readonly waiters = new Set<Waiter>();
  private pass: NodeJS.Timeout | null = null;

  constructor(private readonly env: Env) {
    this.all = new Pool(env.webhookConnections, ACCOUNT_SHARE);
    this.failing = new Pool(shareOf(env.webhookConnections), ACCOUNT_SHARE);
  }

  get used(): number {
    return this.all.used;
  }

  get waiting(): number {
    return this.waiters.size;
  }

  /** Null when its limits are reached. */
  take(destination: Destination): Slot | null {
    const { accountId, host } = destination;
    const pools = this.poolsOf(destination);
    if (!pools.every((pool) => pool.hasRoomFor(accountId))) {
      this.forgetUnused(host);
      return null;
    }
    for (const pool of pools) pool.add(accountId, 1);
    let isHeld = true;
    return {
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        for (const pool of pools) pool.add(accountId, -1);
        this.forgetUnused(host);
        this.schedule();
      },
    };
  }

  /** Resolves with a slot, accounts with the fewest first, or with null when the signal is aborted. */
  async wait(destination: Destination, signal: AbortSignal): Promise<Slot | null> {
    return await new Promise((resolve) => {
      const settle = (slot: Slot | null): void => {
        this.waiters.delete(waiter);
        signal.removeEventListener('abort', cancel);
        resolve(slot);
      };
      const cancel = (): void => settle(null);
      const waiter = { destination, grant: settle };
      if (signal.aborted) return resolve(null);
      signal.addEventListener('abort', cancel);
      this.waiters.add(waiter);
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.waiters.size === 0) return;
    this.pass ??= setTimeout(() => this.grantAll(), this.waiters.size > MANY_WAITERS ? PASS_MS : 0);
  }

  private grantAll(): void {
    this.pass = null;
    const held = (waiter: Waiter): number => this.all.heldBy(waiter.destination.accountId);
    for (const waiter of [...this.waiters].toSorted((a, b) => held(a) - held(b))) {
      const slot = this.take(waiter.destination);
      if (slot) waiter.grant(slot);
    }
  }

  private forgetUnused(host: string): void {
    if (this.hosts.get(host)?.all.used === 0) this.hosts.delete(host);
  }

  private poolsOf({ host, isFailing }: Destination): Pool[] {
    const { webhookConnectionsPerHost: connectionsPerHost } = this.env;
    let ofHost = this.hosts.get(host);
    if (!ofHost) {
      ofHost = {
        all: new Pool(connectionsPerHost, ACCOUNT_SHARE_OF_HOST),
        failing: new Pool(shareOf(connectionsPerHost), ACCOUNT_SHARE_OF_HOST),
      };
      this.hosts.set(host, ofHost);
    }
    return isFailing ? [this.all, ofHost.all, this.failing, ofHost.failing] : [this.all, ofHost.all];
  }
}

const shareOf = (connections: number): number => Math.max(1, Math.floor(connections * FAILING_SHARE));

class Pool {
  used = 0;
  private readonly held = new Map<string, number>();

  constructor(
    private readonly size: number,
    private readonly accountShare: number,
  ) {}

  heldBy(accountId: string): number {
    return this.held.get(accountId) ?? 0;
  }

  hasRoomFor(accountId: string): boolean {
    const free = this.size - this.used;
    return free > 0 && this.heldBy(accountId) < Math.max(1, free * this.accountShare);
  }

  add(accountId: string, change: 1 | -1): void {
    this.used += change;
    const held = this.heldBy(accountId) + change;
    if (held === 0) this.held.delete(accountId);
    else this.held.set(accountId, held);
  }
}
