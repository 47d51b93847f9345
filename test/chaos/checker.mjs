/**
 * Judges a run from outside: it reads what clients were promised, the service's answers over HTTP, the receivers' log,
 * the database and the storage folder, and none of the service's code.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createHmac } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import pg from 'pg';

/** Of the deliveries that were due, how many may be sent once more after they were acknowledged. */
const MAX_REPEATED = 0.002;
/** In a run too small for a share: what is under way at a webhook when its process is killed, before it is recorded. */
const UNDER_WAY = 4;

/**
 * @typedef {{ account: number, name: string, id: string | null, attempts: number, isDeleted: boolean }} Promise
 * @typedef {{ what: string, found: string | number, allowed: string | number, ok: boolean }} Finding
 */

/**
 * @param {{ accounts: { id: string, client: import('./clients.mjs').Client }[], uploads: Promise[],
 *   webhooks: { name: string, account: number, secret: string }[], arrivals: import('./receivers.mjs').Arrival[],
 *   database: import('pg').Client, objects: string[], spooled: string[], repeat: (upload: Promise) => Promise<string> }} run
 * @returns {Promise<Finding[]>}
 */
export async function check(run) {
  return [
    ...(await checkUploads(run)),
    ...(await checkStates(run)),
    ...(await checkDeliveries(run)),
    ...(await checkUsage(run)),
    ...(await checkStorage(run)),
  ];
}

async function checkUploads({ accounts, uploads, database, repeat }) {
  const answered = uploads.filter(({ id }) => id !== null);
  const kept = answered.filter(({ isDeleted }) => !isDeleted);
  const statuses = [];
  for (const { account, id } of kept) {
    const { body } = await accounts[account].client.get(`/v1/recordings/${id}`, [200, 404]);
    const text = body.status === 'transcribed' ? await textOf(accounts[account].client, id) : '';
    statuses.push(text === null ? 'without text' : (body.status ?? 'lost'));
  }
  const gone = await countAsync(
    answered.filter(({ isDeleted }) => isDeleted),
    async ({ account, id }) => (await accounts[account].client.get(`/v1/recordings/${id}`, [200, 404])).status === 200,
  );
  const unsure = kept.filter(({ attempts }) => attempts > 1);
  const { rows } = await database.query(
    `SELECT account_id, custom_tags FROM recordings GROUP BY 1, 2 HAVING count(*) > 1`,
  );
  return [
    {
      what: 'uploads that were answered 201',
      found: answered.length,
      allowed: uploads.length,
      ok: answered.length > 0,
    },
    none('kept and lost', statuses.filter((status) => status === 'lost').length),
    none('kept and not transcribed', statuses.filter((status) => !['transcribed', 'lost'].includes(status)).length),
    none('deleted and still there', gone),
    none('made twice by repeated uploads', rows.length),
    none(
      `repeated with their Idempotency-Key (${unsure.length}), and another recording`,
      await countAsync(unsure, async (upload) => (await repeat(upload)) !== upload.id),
    ),
  ];
}

async function textOf(client, id) {
  const { body } = await client.get(`/v1/recordings/${id}/transcription`, [200, 404]);
  return body.text || null;
}

/** Events that the webhooks of the test get. */
const OF_WEBHOOKS = `e.kind NOT IN ('recording.accepted', 'recording.deleted', 'recording.partial')`;

async function checkStates({ database }) {
  const terminal = `change = 'UPDATE' AND status IN ('transcribed', 'failed')`;
  const count = async (sql) =>
    (await database.query(`SELECT count(*)::int AS found FROM (${sql}) AS rows`)).rows[0].found;
  const twice = await count(`SELECT recording_id FROM history WHERE ${terminal} GROUP BY 1 HAVING count(*) > 1`);
  const silent = await count(
    `SELECT recording_id FROM history h WHERE ${terminal}
       AND (SELECT count(*) FROM events e WHERE e.recording_id = h.recording_id AND ${OF_WEBHOOKS}) <> 1`,
  );
  const echo = await count(
    `SELECT id FROM events e
     WHERE ${OF_WEBHOOKS} AND NOT EXISTS (SELECT 1 FROM history h WHERE h.recording_id = e.recording_id AND ${terminal})`,
  );
  return [
    none('more than one end', twice),
    none('an end without its one event', silent),
    none('an event without an end', echo),
  ];
}

async function checkDeliveries({ accounts, webhooks, arrivals, database }) {
  const { rows: events } = await database.query(
    `SELECT e.id, e.account_id, e.recording_id FROM events e WHERE ${OF_WEBHOOKS}`,
  );
  const known = new Map(events.map((event) => [event.id, event]));
  const due = webhooks.flatMap((webhook) =>
    events
      .filter((event) => event.account_id === accounts[webhook.account].id)
      .map(({ id }) => `${webhook.name} ${id}`),
  );
  const acknowledged = new Set();
  const ids = new Map();
  /** Sent again is one, however often the receiver refuses it then. */
  const repeated = new Set();
  let strange = 0;
  let wrongId = 0;
  for (const arrival of arrivals) {
    const id = arrival.headers['x-service-event-id'];
    const pair = `${arrival.webhook} ${id}`;
    if (acknowledged.has(pair)) repeated.add(pair);
    if (arrival.acknowledged) acknowledged.add(pair);
    if (!known.has(id) || known.get(id).recording_id !== recordingOf(arrival)) strange += 1;
    const about = `${arrival.webhook} ${recordingOf(arrival)}`;
    if ((ids.get(about) ?? id) !== id) wrongId += 1;
    ids.set(about, id);
  }
  const secrets = new Map(webhooks.map(({ name, secret }) => [name, secret]));
  const forged = arrivals.filter((arrival) => !isSigned(arrival, secrets.get(arrival.webhook)));
  const allowed = Math.max(UNDER_WAY, Math.floor(MAX_REPEATED * due.length));
  return [
    none(
      `deliveries due (${due.length}), and never acknowledged`,
      due.filter((pair) => !acknowledged.has(pair)).length,
    ),
    none(`attempts (${arrivals.length}) of no known event`, strange),
    none('attempts with another id than before', wrongId),
    none('attempts with a wrong signature', forged.length),
    { what: 'sent again after they were acknowledged', found: repeated.size, allowed, ok: repeated.size <= allowed },
  ];
}

function isSigned({ headers, body }, secret) {
  const expected = createHmac('sha256', secret).update(body).digest('hex');
  return headers['x-service-signature'] === `sha256=${expected}`;
}

function recordingOf({ body }) {
  return JSON.parse(body.toString()).recording.id;
}

async function checkUsage({ accounts, database }) {
  const wrong = await countAsync(accounts, async ({ id, client }) => {
    const { usage } = (await client.get('/v1/account')).body;
    const { rows } = await database.query(
      `SELECT (SELECT count(*)::int FROM history WHERE account_id = $1 AND change = 'INSERT') AS count,
         (SELECT coalesce(sum(duration_ms), 0)::int FROM recordings WHERE account_id = $1)
           + (SELECT coalesce(sum(duration_ms), 0)::int FROM history WHERE account_id = $1 AND change = 'DELETE') AS ms,
         (SELECT coalesce(sum(file_size_bytes), 0)::int FROM recordings WHERE account_id = $1) AS bytes`,
      [id],
    );
    // A run that goes over midnight of the month's end is booked in both.
    const total = (field) => usage.current_month[field] + usage.previous_month[field];
    const [{ count, ms, bytes }] = rows;
    const isRight =
      total('recordings_count') === count &&
      Math.round(total('total_duration_seconds') * 1000) === ms &&
      total('storage_used_bytes') === bytes;
    return !isRight;
  });
  return [none('accounts whose usage is not what happened', wrong)];
}

async function checkStorage({ database, objects, spooled }) {
  const { rows } = await database.query('SELECT object_key FROM recordings');
  const keys = new Set(rows.map((row) => row.object_key));
  return [
    none('objects without a recording', objects.filter((key) => !keys.has(key)).length),
    none('recordings without their object', keys.size - objects.filter((key) => keys.has(key)).length),
    none('temporary files', spooled.length),
  ];
}

/** Without those that begin with a dot, which are the store's own. */
export function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** So long nothing is done any more, also on a busy machine. */
const STUCK_MS = 90_000;

/**
 * Waits until nothing is under way, or until nothing has moved for long.
 * @param {() => Promise<Record<string, number>>} open what is under way
 * @returns {Promise<Finding>}
 */
export async function untilSettled(open) {
  const sumOf = (counts) => Object.values(counts).reduce((a, b) => a + b);
  let left = await open();
  let changedAt = Date.now();
  while (sumOf(left) > 0 && Date.now() - changedAt < STUCK_MS) {
    await sleep(500);
    const now = await open();
    if (sumOf(now) < sumOf(left)) changedAt = Date.now();
    left = now;
  }
  const detail = Object.entries(left).map(([name, count]) => `${count} ${name}`);
  return { ...none('never settled', sumOf(left)), detail: `${detail.join(', ')} open` };
}

/** Recordings, deliveries and objects to be removed that are under way. */
export async function countOpen(database) {
  const { rows } = await database.query(
    `SELECT (SELECT count(*)::int FROM recordings WHERE status = 'processing') AS recordings,
       (SELECT count(*)::int FROM deliveries WHERE status = 'pending') AS deliveries,
       (SELECT count(*)::int FROM object_removals) AS removals`,
  );
  return rows[0];
}

/** @returns {Finding} */
export function none(what, found) {
  return { what, found, allowed: 0, ok: found === 0 };
}

async function countAsync(items, isCounted) {
  let count = 0;
  for (const item of items) if (await isCounted(item)) count += 1;
  return count;
}

/** @param {(database: import('pg').Client) => Promise<T>} work @template T @returns {Promise<T>} */
export async function withDatabase(connectionString, work) {
  const database = new pg.Client({ connectionString });
  database.on('error', () => undefined);
  await database.connect();
  try {
    return await work(database);
  } finally {
    await database.end().catch(() => undefined);
  }
}

/**
 * A log of what happened to recordings, written by Postgres itself in the transaction of each change: the service knows
 * nothing of it, and it tells what the final rows no longer show.
 */
export async function recordHistory(database) {
  await database.query(`
    CREATE TABLE history (
      change text NOT NULL, recording_id uuid NOT NULL, account_id uuid NOT NULL, status text NOT NULL,
      duration_ms integer NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE FUNCTION record_history() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE recording recordings := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
    BEGIN
      IF TG_OP <> 'UPDATE' OR NEW.status <> OLD.status THEN
        INSERT INTO history VALUES (TG_OP, recording.id, recording.account_id, recording.status, recording.duration_ms);
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER record_history AFTER INSERT OR UPDATE OR DELETE ON recordings
      FOR EACH ROW EXECUTE FUNCTION record_history()`);
}
