import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { repeatWhileFull } from '../../../platform/concurrency/repeat-while-full.js';
import { EventSequence } from '../events/event-sequence.entity.js';
import {
  accountsWithUnnumberedEvents,
  type FeedEvent,
  type FeedRow,
  numberEvents,
  type ReaderPosition,
  selectAccountsWithNewEvents,
  selectFeedPage,
  selectNextEvents,
} from './event-feed.queries.js';

/** Events of one account that one statement numbers. More than a page has. */
const BATCH = 1000;
/** Accounts whose sequences one statement locks. */
const MAX_ACCOUNTS = 100;

/** Events in their order, and whether there are more. */
export interface FeedPage {
  events: FeedEvent[];
  hasMore: boolean;
}

/** The events of an account in the order of their sequence (D40, docs/decisions/0013). */
@Injectable()
export class EventFeedService {
  constructor(
    @InjectRepository(EventSequence) private readonly sequences: Repository<EventSequence>,
    private readonly database: DatabaseService,
  ) {}

  /** @returns up to `limit` events, less where their bodies are large. */
  async page(accountId: string, after: number, limit: number): Promise<FeedPage> {
    const reader = { accountId, after };
    let { rows, isWaiting } = await selectFeedPage(this.database, reader, limit + 1);
    if (isWaiting && !pageOf(rows, limit).hasMore) {
      await numberEvents(this.database, [accountId], BATCH);
      ({ rows } = await selectFeedPage(this.database, reader, limit + 1));
    }
    return pageOf(rows, limit);
  }

  /** Sequence of the last event that was committed until now; 0 without any. */
  async latest(accountId: string): Promise<number> {
    await repeatWhileFull(BATCH, () => numberEvents(this.database, [accountId], BATCH));
    const row = await this.sequences.findOneBy({ accountId });
    return Number(row?.last ?? 0);
  }

  /** The next events of each reader, at most `limit`, less where their bodies are large; also those that had no number until now. */
  async next(readers: readonly ReaderPosition[], limit: number): Promise<FeedPage[]> {
    await numberEvents(this.database, [...new Set(readers.map(({ accountId }) => accountId))], BATCH);
    const found: FeedRow[][] = readers.map(() => []);
    for (const { place, ...event } of await selectNextEvents(this.database, readers, limit + 1))
      found[place]?.push(event);
    return found.map((rows) => pageOf(rows, limit));
  }

  /** Those of the accounts that have events after the position of their reader. */
  async accountsWithNewEvents(readers: readonly ReaderPosition[]): Promise<string[]> {
    return await selectAccountsWithNewEvents(this.database, readers);
  }

  /** For the reconciler: without readers nobody else gives numbers. */
  async numberRemaining(): Promise<void> {
    await repeatWhileFull(MAX_ACCOUNTS, async () => {
      const accountIds = await accountsWithUnnumberedEvents(this.database, MAX_ACCOUNTS);
      if (accountIds.length > 0) {
        await repeatWhileFull(BATCH, () => numberEvents(this.database, accountIds, BATCH));
      }
      return accountIds.length;
    });
  }
}

/** @param rows one more than the page has, if there are so many */
function pageOf(rows: readonly FeedRow[], limit: number): FeedPage {
  const full = rows.findIndex(({ body }, index) => index === limit || body === null);
  const events = (full === -1 ? rows : rows.slice(0, full)) as FeedEvent[];
  return { events, hasMore: full !== -1 };
}
