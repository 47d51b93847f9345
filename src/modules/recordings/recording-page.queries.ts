import type { SqlRunner } from '../../platform/database/database.service.js';
import {
  beforeInstant,
  fromDay,
  fromInstant,
  selectList,
  toPage,
  untilDay,
} from '../../platform/database/statement-parts.js';
import type { PageResult } from '../../platform/http/page.js';
import { Recording } from './recording.entity.js';
import { type ListRecordingsQuery, type TimeOrder, timeOrder } from './recordings.dto.js';
import { COUNTERS_OF_ACCOUNT } from './usage-counters/usage-counters.queries.js';

/** Columns that no list shows. */
const UNLISTED = [
  'keyId',
  'language',
  'languages',
  'translate',
  'vocabulary',
  'separateChannels',
  'speakers',
  'speakerNames',
  'failureReason',
  'run',
  'rerun',
  'rerunAt',
  'requestedEngine',
  'attempt',
  'faults',
  'leaseToken',
  'leaseUntil',
  'audioDueAt',
  'textDueAt',
  'deleteAudioAfter',
  'audioDeletedAt',
  'heldAt',
  'holdReason',
] as const;

/** A recording as a list needs it. */
export type ListedRecording = Omit<Recording, (typeof UNLISTED)[number]>;

/**
 * Only these columns are read for a list: all of them would take 8 % more CPU time of Postgres and 9 % more to read in
 * Node (docs/performance.md). Held by `recording-page.queries.spec.ts`.
 */
export const LISTED_COLUMNS = selectList(Recording, 'r', UNLISTED);

/** What follows each column in ORDER BY. */
export const directionOf = (order: TimeOrder): 'ASC' | 'DESC' => (order === 'oldest' ? 'ASC' : 'DESC');

/**
 * The first page of the recordings of account $1: $2 limit. The counters of each day give the total.
 * @param ofCounters the filter on the counters, and `ofRecordings` the same filter on the recordings.
 */
const firstPage = (order: TimeOrder, ofCounters: string, ofRecordings: string): string => `
  SELECT total.total, page.* FROM (
    SELECT coalesce(sum(listed), 0)::float8 AS total FROM ${COUNTERS_OF_ACCOUNT} AS counters WHERE ${ofCounters}
  ) total
  LEFT JOIN LATERAL (
    SELECT ${LISTED_COLUMNS} FROM recordings r
    WHERE r.account_id = $1 AND ${ofRecordings}
    ORDER BY r.created_at ${directionOf(order)}, r.id ${directionOf(order)}
    LIMIT $2
  ) page ON true`;

/** From the day in which a page begins, and from its first recording: what comes before them in the order is skipped. */
const FROM_START = {
  newest: {
    day: `r.created_at < ((SELECT day FROM start) + 1)::timestamp AT TIME ZONE 'UTC'`,
    recording: '(r.created_at, r.id) <= ((SELECT created_at FROM first), (SELECT id FROM first))',
  },
  oldest: {
    day: `r.created_at >= (SELECT day FROM start)::timestamp AT TIME ZONE 'UTC'`,
    recording: '(r.created_at, r.id) >= ((SELECT created_at FROM first), (SELECT id FROM first))',
  },
};

/**
 * A later page: $3 offset. The counters also give the day in which the page begins (`start`). Only the index of that day
 * is walked, to the first recording of the page (`first`), and only the page itself is read from the table.
 * @param ofRecordings need not exclude what comes before `start` in the order.
 */
const laterPage = (order: TimeOrder, ofCounters: string, ofRecordings: string): string => `
  WITH days AS (
    SELECT day, sum(listed)::bigint AS listed,
      (sum(sum(listed)) OVER (ORDER BY day ${directionOf(order)}) - sum(listed))::bigint AS skipped
    FROM ${COUNTERS_OF_ACCOUNT} AS counters
    WHERE ${ofCounters}
    GROUP BY day
  ), start AS (
    SELECT day, skipped FROM days WHERE skipped <= $3::bigint AND skipped + listed > $3::bigint
  ), first AS MATERIALIZED (
    SELECT r.created_at, r.id FROM recordings r
    WHERE r.account_id = $1 AND ${ofRecordings}
      AND ${FROM_START[order].day}
    ORDER BY r.created_at ${directionOf(order)}, r.id ${directionOf(order)}
    LIMIT 1 OFFSET $3::bigint - (SELECT skipped FROM start)
  )
  SELECT total.total, page.* FROM (SELECT coalesce(sum(listed), 0)::float8 AS total FROM days) total
  LEFT JOIN LATERAL (
    SELECT ${LISTED_COLUMNS} FROM recordings r
    WHERE r.account_id = $1 AND ${ofRecordings}
      AND ${FROM_START[order].recording}
    ORDER BY r.created_at ${directionOf(order)}, r.id ${directionOf(order)}
    LIMIT $2
  ) page ON true`;

/** Parameters of the filters follow those of the page. */
const daysOf = (n: number): string => `day >= $${n}::date AND day <= $${n + 1}::date`;
const createdFrom = (n: number): string => fromDay('r.created_at', `$${n}`);
const createdUntil = (n: number): string => untilDay('r.created_at', `$${n}`);
/** The end of the days at $`n` and $`n + 1` that is last in the order. */
const LAST_DAY = { newest: createdFrom, oldest: (n: number) => createdUntil(n + 1) };

/**
 * Four statements of each, because a filter that is not given must not stand in the statement: with day limits of
 * infinity a generic plan reads 372 blocks instead of 36, and a status needs another index.
 */
const firstPages = (order: TimeOrder) => ({
  all: firstPage(order, 'true', 'true'),
  ofStatus: firstPage(order, 'status = $3', 'r.status = $3'),
  ofDays: firstPage(order, daysOf(3), `${createdFrom(3)} AND ${createdUntil(4)}`),
  ofDaysAndStatus: firstPage(
    order,
    `${daysOf(3)} AND status = $5`,
    `${createdFrom(3)} AND ${createdUntil(4)} AND r.status = $5`,
  ),
});
const laterPages = (order: TimeOrder) => ({
  all: laterPage(order, 'true', 'true'),
  ofStatus: laterPage(order, 'status = $4', 'r.status = $4'),
  ofDays: laterPage(order, daysOf(4), LAST_DAY[order](4)),
  ofDaysAndStatus: laterPage(order, `${daysOf(4)} AND status = $6`, `${LAST_DAY[order](4)} AND r.status = $6`),
});
const FIRST_PAGE = { newest: firstPages('newest'), oldest: firstPages('oldest') };
const LATER_PAGE = { newest: laterPages('newest'), oldest: laterPages('oldest') };

/** The statement of a page and its parameters: for `selectRecordingPage`, and for an EXPLAIN. */
export function pageStatement(accountId: string, query: ListRecordingsQuery): { sql: string; parameters: unknown[] } {
  const { page: number, limit, status, date_from: from, date_to: to } = query;
  const statements = (number === 0 ? FIRST_PAGE : LATER_PAGE)[timeOrder(query)];
  const place = number === 0 ? [accountId, limit] : [accountId, limit, number * limit];
  const ofStatus = status ? [status] : [];
  if (from === undefined && to === undefined) {
    return { sql: status ? statements.ofStatus : statements.all, parameters: [...place, ...ofStatus] };
  }
  return {
    sql: status ? statements.ofDaysAndStatus : statements.ofDays,
    parameters: [...place, from ?? '-infinity', to ?? 'infinity', ...ofStatus],
  };
}

/** SQL, because total and page come from one statement, and so from one snapshot. */
export async function selectRecordingPage(
  runner: SqlRunner,
  accountId: string,
  query: ListRecordingsQuery,
): Promise<PageResult<ListedRecording>> {
  const { sql, parameters } = pageStatement(accountId, query);
  const rows = await runner.prepared<ListedRecording & { total: number }>(sql, parameters);
  return toPage(rows);
}

/** Whether the counters of the days give the total. */
export const isCountedByDay = ({ user_id: userId, created_from: from, created_before: before }: ListRecordingsQuery) =>
  userId === undefined && from === undefined && before === undefined;

/**
 * A page of the recordings of an end user, or between two instants. They are counted and skipped in the index alone; only
 * the page itself is read from the table. SQL, because total and page come from one statement, and so from one snapshot.
 */
export async function selectPageByIndex(
  runner: SqlRunner,
  accountId: string,
  query: ListRecordingsQuery,
): Promise<PageResult<ListedRecording>> {
  const { sql, parameters } = indexPageStatement(accountId, query);
  const rows = await runner.query<ListedRecording & { total: number }>(sql, parameters);
  return toPage(rows);
}

function indexPageStatement(accountId: string, query: ListRecordingsQuery): { sql: string; parameters: unknown[] } {
  const { page, limit } = query;
  const parameters: unknown[] = [accountId, limit, page * limit];
  const conditions = indexConditions(query, (value) => `$${parameters.push(value)}`);
  const direction = directionOf(timeOrder(query));
  const sql = `
    WITH page AS MATERIALIZED (
      SELECT k.id, k.created_at FROM recordings k WHERE ${conditions}
      ORDER BY k.created_at ${direction}, k.id ${direction} LIMIT $2 OFFSET $3::bigint
    )
    SELECT total.total, ${LISTED_COLUMNS}
    FROM (SELECT count(*)::float8 AS total FROM recordings k WHERE ${conditions}) total
    LEFT JOIN (page JOIN recordings r ON r.id = page.id) ON true
    ORDER BY page.created_at ${direction}, page.id ${direction}`;
  return { sql, parameters };
}

/** The conditions on a recording `k` of account $1 that an index decides. @param place makes a placeholder of a value */
export const indexConditions = (
  { status, user_id: userId, ...range }: ListRecordingsQuery,
  place: (value: unknown) => string,
): string =>
  [
    'k.account_id = $1',
    ...(userId === undefined ? [] : [`k.user_id = ${place(userId)}`]),
    ...(status === undefined ? [] : [`k.status = ${place(status)}`]),
    ...createdWithin('k.created_at', range, place),
  ].join(' AND ');

/** The limits of the time of creation. */
export type CreationRange = Pick<ListRecordingsQuery, 'date_from' | 'date_to' | 'created_from' | 'created_before'>;

/** The conditions on a time of creation for the limits that are given. @param place makes a placeholder of a value */
export const createdWithin = (
  column: string,
  { date_from: from, date_to: to, created_from: first, created_before: end }: CreationRange,
  place: (value: unknown) => string,
): string[] => [
  ...(from === undefined ? [] : [fromDay(column, place(from))]),
  ...(to === undefined ? [] : [untilDay(column, place(to))]),
  ...(first === undefined ? [] : [fromInstant(column, place(utc(first)))]),
  ...(end === undefined ? [] : [beforeInstant(column, place(utc(end)))]),
];

/** Postgres takes no zone of more than 16 hours. */
const utc = (instant: string): string => new Date(instant).toISOString();
