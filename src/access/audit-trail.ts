import { hash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { v7 as uuidv7 } from 'uuid';
import type { SqlRunner } from '../platform/database/database.service.js';
import type { JoinedWrite } from '../platform/database/event-bus.js';
import { type Acting, acting } from './acting.js';

/** What an entry of the audit log is about. */
export interface AuditTarget {
  type: string;
  id: string;
}

/**
 * A change to be recorded (D98). `before` and `after` have what differs, and neither a secret nor what a recording says:
 * no text, title, tag or name of a speaker.
 */
export interface AuditedChange {
  accountId: string;
  /** Such as `webhook.updated`. */
  action: string;
  /** The first one is what lists are filtered by. */
  targets: AuditTarget[];
  outcome?: 'success' | 'failure';
  before?: object | null;
  after?: object | null;
}

export const auditTarget = (type: string, id: string): AuditTarget => ({ type, id });

/** In place of values that an entry must not show: it tells that they have changed. */
const HIDDEN = 'changed';

/**
 * What differs, as an entry shows it.
 * @param hidden keys of which it tells only that they have changed
 */
export function differences<Values extends object>(
  before: Values,
  after: Values,
  hidden: readonly (keyof Values & string)[] = [],
): { before: object; after: object } {
  const [old, changed] = [valuesOf(before), valuesOf(after)];
  const keys = Object.keys(changed).filter((key) => !isDeepStrictEqual(old[key] ?? null, changed[key] ?? null));
  const hiddenKeys: readonly string[] = hidden;
  const shown = (values: Record<string, unknown>) =>
    Object.fromEntries(keys.map((key) => [key, hiddenKeys.includes(key) ? HIDDEN : values[key]]));
  return { before: shown(old), after: shown(changed) };
}

const valuesOf = (values: object) => JSON.parse(JSON.stringify(values)) as Record<string, unknown>;

/** A URL may hold a secret in its path. */
export const shownUrl = (url: string | null): string | null => url && new URL(url).origin;

const COLUMNS = `id, account_id, at, action, outcome, actor_kind, key_id, person_id, token_id, user_id, address, user_agent, salt,
  personal_hash, request_id, target_id, targets, before, after`;
const TYPES = `id uuid, account_id uuid, at timestamptz, action text, outcome text, actor_kind text, key_id text, person_id text,
  token_id text, user_id text, address text, user_agent text, salt text, personal_hash text, request_id text,
  target_id text, targets jsonb, before jsonb, after jsonb`;

/** Records changes in the transaction that makes them. */
export async function recordChanges(runner: SqlRunner, ...changes: readonly AuditedChange[]): Promise<void> {
  if (changes.length > 0) await insertRows(runner, changes, acting());
}

/** Records a request that changes nothing. */
export async function recordRead(runner: SqlRunner, by: Acting, read: AuditedChange): Promise<void> {
  await insertRows(runner, [read], by);
}

async function insertRows(runner: SqlRunner, changes: readonly AuditedChange[], by: Acting): Promise<void> {
  await runner.prepared(
    `INSERT INTO audit_entries (${COLUMNS}) SELECT ${COLUMNS} FROM jsonb_to_recordset($1) AS e(${TYPES})`,
    [JSON.stringify(changes.map((change) => rowOf(change, by)))],
  );
}

/** Records a change with the statement that makes it, if that has made it: if its CTE has a row. */
export function joinedChange(cte: string, change: AuditedChange): JoinedWrite {
  return {
    sql: (first) =>
      `INSERT INTO audit_entries (${COLUMNS}) SELECT e.* FROM ${cte}, jsonb_to_record($${first}) AS e(${TYPES})`,
    parameters: [JSON.stringify(rowOf(change, acting()))],
  };
}

function rowOf(change: AuditedChange, by: Acting) {
  const { accountId, action, targets, outcome = 'success', before = null, after = null } = change;
  const { salt, hash: personal } = sealPersonal(by);
  return {
    id: uuidv7(),
    account_id: accountId,
    at: new Date(),
    action,
    outcome,
    actor_kind: by.kind,
    key_id: by.keyId,
    person_id: by.personId,
    token_id: by.tokenId,
    user_id: by.userId,
    address: by.address,
    user_agent: by.userAgent,
    salt,
    personal_hash: personal,
    request_id: by.requestId,
    target_id: targets[0]?.id ?? null,
    targets,
    before,
    after,
  };
}

type Personal = Pick<Acting, 'userId' | 'address' | 'userAgent'>;

/** The chain of hashes has the hash of personal data alone, so that they can be erased and the chain still be verified. */
function sealPersonal(personal: Personal): { salt: string | null; hash: string | null } {
  const { userId, address, userAgent } = personal;
  if (userId === null && address === null && userAgent === null) return { salt: null, hash: null };
  // Node draws the bytes of 128 of them at once: randomBytes takes 30 µs each time.
  const salt = randomUUID();
  return { salt, hash: personalHash(salt, personal) };
}

export const personalHash = (salt: string, { userId, address, userAgent }: Personal): string =>
  hash('sha256', canonicalJson([salt, userId, address, userAgent]), 'hex');

/** Removes who and from where of up to `count` entries of an end user. SQL, because of LIMIT. @returns how many. */
export async function eraseActor(runner: SqlRunner, accountId: string, userId: string, count: number): Promise<number> {
  const erased = await runner.query(
    `UPDATE audit_entries SET user_id = NULL, address = NULL, user_agent = NULL, salt = NULL WHERE id IN (
       SELECT id FROM audit_entries WHERE account_id = $1 AND user_id = $2 LIMIT $3) RETURNING 1`,
    [accountId, userId, count],
  );
  return erased.length;
}

/** JSON with the keys of every object in the order of their UTF-16 units, without spaces: the same value, the same text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (isObject(part) ? sorted(part) : part));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);

const sorted = (object: Record<string, unknown>): object =>
  Object.fromEntries(
    Object.keys(object)
      .toSorted()
      .map((key) => [key, object[key]]),
  );
