import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { auditTarget, recordChanges } from '../../../access/audit-trail.js';
import { Env } from '../../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { isResourceId } from '../../../platform/database/find-or-fail.js';
import { ConflictError, NotFoundError } from '../../../platform/errors/errors.js';
import { RedisService } from '../../../platform/redis/redis.service.js';
import type { Position } from '../events/webhook-events.service.js';
import { Webhook } from '../webhook.entity.js';
import type { RedeliverDto } from './deliveries.dto.js';
import { DeliveriesService } from './deliveries.service.js';
import { Delivery, WebhookRedelivery } from './delivery.entity.js';
import {
  countRedelivery,
  hastenPending,
  insertMissed,
  insertRedelivery,
  isRedelivering,
  type LockedRedelivery,
  lockEnded,
  lockRedelivery,
  moveRedelivery,
  type Pace,
  reopenEnded,
  selectMissed,
  START,
} from './redeliveries.queries.js';

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

/** Rows that one transaction looks at or changes, which takes well under a second. */
const BATCH = 1000;
/** In one round of the reconciler, so that its other tasks do not wait. */
const MAX_BATCHES = 50;

export const webhookDisabled = () => new ConflictError('This webhook is disabled. Set its status to active first.');
export const redeliveryInProgress = () =>
  new ConflictError('A redelivery of this webhook is in progress. Try again when it has ended.');

/** Sends events again, and those that a webhook missed (D39). They go through the send loops like all others. */
@Injectable()
export class RedeliveriesService {
  private readonly logger = new Logger(RedeliveriesService.name);

  constructor(
    private readonly database: DatabaseService,
    @InjectRepository(WebhookRedelivery) private readonly redeliveries: Repository<WebhookRedelivery>,
    private readonly deliveries: DeliveriesService,
    private readonly pace: RedeliveryPaceService,
  ) {}

  /** One that waits for its next attempt becomes due. @throws NotFoundError, ConflictError while the webhook is disabled */
  async redeliver(accountId: string, webhookId: string, id: string): Promise<void> {
    if (!isResourceId(webhookId) || !isResourceId(id)) throw new NotFoundError('delivery');
    await this.database.transact(async (tx) => {
      const webhook = await lockAgainstDeletion(tx, { id: webhookId, accountId });
      // Of two at the same time the second waits, and finds it pending.
      const lock = { mode: 'for_no_key_update' } as const;
      const delivery = webhook && (await tx.manager.findOne(Delivery, { where: { id, webhookId }, lock }));
      if (!delivery) throw new NotFoundError('delivery');
      if (webhook.status !== 'active') throw webhookDisabled();
      const pace = await this.pace.take(accountId, webhook.url, 1);
      if (delivery.status !== 'pending') await reopenEnded(tx, [id], pace);
      // One that is due or being sent stays as it is.
      else if (!(await hastenPending(tx, id, pace))) await this.pace.giveBack(accountId, webhook.url);
      const targets = [auditTarget('webhook', webhookId), auditTarget('delivery', id)];
      await recordChanges(tx, { accountId, action: 'delivery.redelivered', targets });
      tx.afterCommit(() => this.deliveries.wake(webhookId));
    });
  }

  /**
   * Begins a redelivery of many. What it counts is exact; the deliveries follow, the first batch at once.
   * @returns how many are sent again.
   * @throws NotFoundError, ConflictError while another is in progress, or the webhook is disabled
   */
  async redeliverMany(accountId: string, webhookId: string, dto: RedeliverDto): Promise<number> {
    if (!isResourceId(webhookId)) throw new NotFoundError('webhook');
    const count = await this.database.transact(async (tx) => {
      const webhook = await lockAgainstDeletion(tx, { id: webhookId, accountId });
      if (!webhook) throw new NotFoundError('webhook');
      if (webhook.status !== 'active') throw webhookDisabled();
      if (!(await insertRedelivery(tx, { ...dto, accountId, webhookId }))) throw redeliveryInProgress();
      const job = await lockRedelivery(tx, webhookId);
      const matching = job ? await countRedelivery(tx, job, webhook.events) : 0;
      if (matching > 0 && (await isRedelivering(tx, webhookId))) throw redeliveryInProgress();
      if (matching === 0) await tx.manager.delete(WebhookRedelivery, { webhookId });
      await recordChanges(tx, {
        accountId,
        action: 'webhook.redelivered',
        targets: [auditTarget('webhook', webhookId)],
        after: { ...dto, deliveries: matching },
      });
      return matching;
    });
    if (count > 0) await this.tryBatch(webhookId);
    return count;
  }

  /** For the reconciler: a batch of each redelivery in turn. */
  async continueAll(): Promise<void> {
    const found = await this.redeliveries.find({
      select: { webhookId: true },
      order: { startedAt: 'ASC' },
      take: MAX_BATCHES,
    });
    let turn = found.map(({ webhookId }) => webhookId);
    for (let batches = 0; turn.length > 0 && batches < MAX_BATCHES;) {
      const unfinished: string[] = [];
      for (const webhookId of turn) {
        batches++;
        if (await this.tryBatch(webhookId)) unfinished.push(webhookId);
      }
      turn = unfinished;
    }
  }

  /** @returns whether more is to do, for this process. */
  private async tryBatch(webhookId: string): Promise<boolean> {
    try {
      return await this.database.transact((tx) => this.runBatch(tx, webhookId));
    } catch (error) {
      this.logger.warn({ err: error, webhook_id: webhookId }, 'redelivery batch failed');
      return false;
    }
  }

  private async runBatch(tx: Tx, webhookId: string): Promise<boolean> {
    // Deleting a webhook locks it before its redelivery, too. The other order could deadlock.
    const webhook = await lockAgainstDeletion(tx, { id: webhookId });
    const job = webhook && (await lockRedelivery(tx, webhookId));
    if (!job) return false;
    const isOver = webhook.status !== 'active' || (await this.runPhase(tx, job, webhook.url));
    if (isOver) await tx.manager.delete(WebhookRedelivery, { webhookId });
    tx.afterCommit(() => this.deliveries.wake(webhookId));
    return !isOver;
  }

  /** First what has ended, then what was missed. @returns whether nothing is left. */
  private async runPhase(tx: Tx, job: LockedRedelivery, url: string): Promise<boolean> {
    const last =
      job.phase === 'deliveries' ? await this.redeliverEnded(tx, job, url) : await this.addMissed(tx, job, url);
    if (last) {
      await moveRedelivery(tx, job, last);
      return false;
    }
    if (job.phase === 'events' || job.status !== null) return true;
    return await this.runPhase(tx, { ...job, phase: 'events', ...START }, url);
  }

  /** @returns where the next batch begins, null when there is none. */
  private async redeliverEnded(tx: Tx, job: LockedRedelivery, url: string): Promise<Position | null> {
    const ended = await lockEnded(tx, job, BATCH);
    const ids = ended.map(({ id }) => id);
    if (ids.length > 0) await reopenEnded(tx, ids, await this.pace.take(job.accountId, url, ids.length));
    return ended.length < BATCH ? null : (ended.at(-1) ?? null);
  }

  /** @returns where the next batch begins, null when there is none. */
  private async addMissed(tx: Tx, job: LockedRedelivery, url: string): Promise<Position | null> {
    const { eventIds, last } = await selectMissed(tx, job, BATCH);
    const missed = eventIds.map((eventId) => ({ id: uuidv7(), eventId }));
    if (missed.length > 0) {
      await insertMissed(tx, job, missed, await this.pace.take(job.accountId, url, missed.length));
    }
    return last;
  }
}

/** Null when the webhook does not exist. Blocks nothing but its deletion, until the commit. */
async function lockAgainstDeletion(tx: Tx, where: { id: string; accountId?: string }): Promise<Webhook | null> {
  return await tx.manager.findOne(Webhook, { where, lock: { mode: 'for_key_share' } });
}
