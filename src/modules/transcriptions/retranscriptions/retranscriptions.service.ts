import { Injectable } from '@nestjs/common';
import { v7 as uuidv7 } from 'uuid';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import {
  cancelRetranscriptions,
  countFailure,
  endRetranscription,
  insertRetranscriptions,
  markNext,
  type NewRetranscription,
  type OpenRetranscription,
  type RetranscriptionProgress,
  selectOpen,
  selectProgress,
} from './retranscriptions.queries.js';

export type { RetranscriptionProgress } from './retranscriptions.queries.js';

/** Recordings of an account that are marked at a time, so that accounts take turns. */
const BATCH = 10;
/** Marked recordings of all accounts together: more would only wait. */
const MAX_PENDING = 500;
/** In one round of the reconciler, so that its other tasks do not wait. */
const MAX_BATCHES = 200;
/** A slow rate is spread over time: never more wait than belong to so many seconds. */
const MAX_PENDING_SECONDS = 10;

/** Has the recordings of old models transcribed again, behind all others, for an operator (D49). */
@Injectable()
export class RetranscriptionsService {
  constructor(private readonly database: DatabaseService) {}

  /** @returns the accounts that have such recordings and no other such command in progress, with their counts. */
  async begin(command: Omit<NewRetranscription, 'jobId'>): Promise<{ accountId: string; total: number }[]> {
    // A transaction, because behind a pooler only one of a command has no time limit.
    return await this.database.transact((tx) => insertRetranscriptions(tx, { ...command, jobId: uuidv7() }));
  }

  async progress(accountId: string | null): Promise<RetranscriptionProgress[]> {
    return await selectProgress(this.database, accountId);
  }

  /** What a worker has begun is finished. @returns of how many accounts. */
  async cancel(accountId: string | null): Promise<number> {
    return await cancelRetranscriptions(this.database, accountId);
  }

  async countFailure(tx: Tx, accountId: string): Promise<void> {
    await countFailure(tx, accountId);
  }

  /** For the reconciler: marks what fits, account by account, those with the least audio first. */
  async continueAll(): Promise<void> {
    const open = await selectOpen(this.database);
    const budgets = budgetsOf(open);
    let room = MAX_PENDING - sumOf(open);
    let turn = open.filter(({ isMarked }) => !isMarked);
    for (let batches = 0; turn.length > 0 && batches < MAX_BATCHES;) {
      const unfinished: OpenRetranscription[] = [];
      for (const job of turn) {
        const budget = budgets.get(job.jobId) ?? 0;
        const count = Math.min(BATCH, room, budget);
        if (count < 1) continue;
        batches++;
        const { marked, isMarked } = await this.database.transact((tx) => markNext(tx, job.accountId, count));
        room -= marked;
        budgets.set(job.jobId, budget - marked);
        if (!isMarked) unfinished.push(job);
      }
      turn = unfinished;
    }
    for (const { accountId, isMarked, pending } of open) {
      if (isMarked && pending === 0) await endRetranscription(this.database, accountId);
    }
  }
}

const sumOf = (jobs: readonly OpenRetranscription[]): number => jobs.reduce((sum, { pending }) => sum + pending, 0);

/** Recordings that each job may mark now. */
function budgetsOf(open: readonly OpenRetranscription[]): Map<string, number> {
  const budgets = new Map<string, number>();
  for (const { jobId, rate, seconds } of open) {
    if (budgets.has(jobId)) continue;
    const pending = sumOf(open.filter((job) => job.jobId === jobId));
    const mostPending = Math.max(1, Math.ceil(((rate ?? 0) * MAX_PENDING_SECONDS) / 60));
    const budget = rate === null ? MAX_PENDING : Math.min(Math.floor((rate * seconds) / 60), mostPending - pending);
    budgets.set(jobId, budget);
  }
  return budgets;
}
