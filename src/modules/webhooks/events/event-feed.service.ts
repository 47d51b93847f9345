import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { repeatWhileFull } from '../../../platform/queue/reconciler.service.js';
import { DatabaseService, type SqlRunner } from '../../../platform/database/database.service.js';
import { EventSequence } from './webhook-event.entity.js';

/** An event with its number. */
export interface FeedEvent {
  id: string;
  sequence: number;
  kind: string;
  body: string;
  createdAt: Date;
}

/** A row of a page: the body is null when it did not fit any more. */
type FeedRow = Omit<FeedEvent, 'body'> & { body: string | null };

/** How far a reader of an account has come. */
export interface ReaderPosition {
  accountId: string;
  /** Sequence of the last event it has. */
  after: number;
}

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
    const [page] = await this.next([{ accountId, after }], limit);
    return page as FeedPage;
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

/** Bodies that one page has. Of 100 bodies of long notes there would be 60 MB. */
const PAGE_BYTES = 1_000_000;

/**
 * The next events of several readers, at most `limit` for each: `place` is that of the reader. An event has no body when
 * those before it have filled the page. SQL: one statement for all.
 */
export async function selectNextEvents(
  runner: SqlRunner,
  readers: readonly ReaderPosition[],
  limit: number,
): Promise<(FeedRow & { place: number })[]> {
  return await runner.prepared(
    `SELECT (reader.place - 1)::int AS place, next.*
     FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS reader (account_id, after, place)
     CROSS JOIN LATERAL (
       SELECT e.id, e.sequence::float8 AS sequence, e.kind, e.created_at AS "createdAt",
         CASE WHEN e.bytes_until - octet_length(e.body) < ${PAGE_BYTES} THEN e.body END AS body
       FROM (
         SELECT e.*, sum(octet_length(e.body)) OVER (ORDER BY e.sequence ROWS UNBOUNDED PRECEDING) AS bytes_until
         FROM events e WHERE e.account_id = reader.account_id AND e.sequence > reader.after ORDER BY e.sequence LIMIT $3
       ) e
     ) next ORDER BY reader.place, next.sequence`,
    [readers.map(({ accountId }) => accountId), readers.map(({ after }) => after), limit],
  );
}

/** The accounts that have events for these readers, with a number or without. SQL: one statement for all. */
export async function selectAccountsWithNewEvents(
  runner: SqlRunner,
  readers: readonly ReaderPosition[],
): Promise<string[]> {
  const rows = await runner.prepared<{ id: string }>(
    `SELECT reader.account_id AS id FROM unnest($1::uuid[], $2::bigint[]) AS reader (account_id, after)
     WHERE EXISTS (SELECT FROM events e WHERE e.account_id = reader.account_id AND e.sequence > reader.after)
       OR EXISTS (SELECT FROM events e WHERE e.account_id = reader.account_id AND e.sequence IS NULL)`,
    [readers.map(({ accountId }) => accountId), readers.map(({ after }) => after)],
  );
  return rows.map(({ id }) => id);
}

/**
 * Gives numbers to events that are committed, at most `count` for each account. SQL, because it is a function
 * (migration 0001). @returns how many.
 */
export async function numberEvents(runner: SqlRunner, accountIds: readonly string[], count: number): Promise<number> {
  const [row] = await runner.prepared<{ numbered: number }>('SELECT number_events($1, $2)::float8 AS numbered', [
    accountIds,
    count,
  ]);
  return row?.numbered ?? 0;
}

/** SQL, because TypeORM's DISTINCT has no LIMIT. */
export async function accountsWithUnnumberedEvents(runner: SqlRunner, count: number): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    'SELECT DISTINCT account_id AS id FROM events WHERE sequence IS NULL LIMIT $1',
    [count],
  );
  return rows.map(({ id }) => id);
}
