import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { CounterAuditService } from '../../src/modules/recordings/usage-counters/counter-audit.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import type { TestService } from '../../src/testing/test-service.js';
import { useFleet } from '../support/service/fleet.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { seedNotes } from '../support/state/many-notes.js';

const fleet = useFleet();
const { environment } = fleet;

/** A fifth of the notes each. */
const PARTS = 5;
const NOTES = 1500;
const KILLS = 4;

interface Parts {
  /** Only their audio is due. */
  audio: string[];
  /** All of it is. */
  whole: string[];
  /** Due, and on hold, waiting for a worker, or not due yet. */
  held: string[];
  unfinished: string[];
  later: string[];
}

/** Notes with an object and an event each, of which something is due at once when `begin` is called. */
async function seed(service: TestService, client: ApiClient): Promise<Parts> {
  const note = () => ({ text: 'hello there', tags: { ticket: 'T-1' }, userId: 'ada' });
  const ids = await seedNotes(service, client, Array.from({ length: NOTES }, note));
  const folder = join(environment.variables.STORAGE_DIR as string, 'objects', client.accountId);
  await mkdir(folder, { recursive: true });
  for (const id of ids) await writeFile(join(folder, `${id}.webm`), 'x');
  const body = { event: 'recording.transcribed', recording: { identity: 'ada', custom_tags: { ticket: 'T-1' } } };
  await service.database.query(
    `WITH keyed AS (
       UPDATE recordings SET object_key = account_id || '/' || id || '.webm' WHERE account_id = $1 RETURNING id)
     INSERT INTO events (id, account_id, kind, recording_id, run, user_id, body, created_at)
     SELECT gen_random_uuid(), $1, 'recording.transcribed', id, 1, 'ada', $2, now() FROM keyed`,
    [client.accountId, JSON.stringify(body)],
  );
  const part = (n: number): string[] => ids.slice((NOTES / PARTS) * n, (NOTES / PARTS) * (n + 1));
  return { audio: part(0), whole: part(1), held: part(2), unfinished: part(3), later: part(4) };
}

/** Moves the times of all but `later` into the past. One statement, so that no sweep sees a part of it. */
async function begin({ database }: TestService, { audio, whole, held, unfinished, later }: Parts): Promise<void> {
  await database.query(
    `UPDATE recordings SET
       audio_due_at = CASE WHEN id = ANY ($5::uuid[]) THEN now() + interval '1 day' ELSE now() - interval '1 hour' END,
       text_due_at = CASE WHEN id = ANY ($1::uuid[]) THEN now() + interval '1 day'
         WHEN id = ANY ($5::uuid[]) THEN now() + interval '2 days' ELSE now() - interval '1 minute' END,
       held_at = CASE WHEN id = ANY ($3::uuid[]) THEN now() END, hold_reason = CASE WHEN id = ANY ($3::uuid[]) THEN 'Complaint' END,
       rerun = CASE WHEN id = ANY ($4::uuid[]) THEN 'quiet' END, rerun_at = CASE WHEN id = ANY ($4::uuid[]) THEN now() END
     WHERE id = ANY ($1::uuid[] || $2::uuid[] || $3::uuid[] || $4::uuid[] || $5::uuid[])`,
    [audio, whole, held, unfinished, later],
  );
}

describe('D78: workers that are killed in the middle of a sweep', () => {
  it('leave nothing of what is due, lose nothing else, and delete each once', async () => {
    const service = await fleet.service('api');
    const client = await service.account();
    const parts = await seed(service, client);
    const { audio, whole, held, unfinished, later } = parts;
    await begin(service, parts);

    /** Recordings of which nothing is due any more. */
    const progress = async (): Promise<number> => {
      const [row] = await service.database.query<{ done: number }>(
        `SELECT ($2::int - count(*) + count(audio_deleted_at))::int AS done FROM recordings WHERE account_id = $1`,
        [client.accountId, NOTES],
      );
      return row?.done ?? 0;
    };
    const due = audio.length + whole.length;
    let killedInTheMiddle = 0;
    for (let i = 0; i < KILLS; i++) {
      // The next goes on where the last was killed, within a transaction as often as between two.
      const before = await progress();
      const victim = await fleet.process('deliverer', { RECONCILE_SECONDS: '1' });
      const seen = await eventually(async () => {
        const done = await progress();
        return done > before || done === due ? done : null;
      });
      await delay(Math.random() * 40);
      await victim.end('SIGKILL');
      if (seen < due) killedInTheMiddle++;
    }
    reportMeasurement(`${killedInTheMiddle} of ${KILLS} workers killed in the middle of a sweep of ${due} notes`);
    await fleet.process('deliverer', { RECONCILE_SECONDS: '1' });
    await fleet.process('deliverer', { RECONCILE_SECONDS: '1' });
    await eventually(async () => (await progress()) === due);
    // In the list of removals each object stands until it is gone.
    const removals = 'SELECT 1 FROM object_removals LIMIT 1';
    await eventually(async () => {
      await service.database.query(`UPDATE object_removals SET remove_after = now() WHERE remove_after > now()`);
      return (await service.database.query(removals)).length === 0;
    });

    const rows = await service.database.query<{ id: string; gone: boolean }>(
      'SELECT id, audio_deleted_at IS NOT NULL AS gone FROM recordings WHERE account_id = $1',
      [client.accountId],
    );
    const kept = [...held, ...unfinished, ...later].toSorted();
    const idsOf = (isGone: boolean) => rows.filter(({ gone }) => gone === isGone).map(({ id }) => id);
    expect(idsOf(false).toSorted()).toEqual(kept);
    expect(idsOf(true).toSorted()).toEqual(audio.toSorted());
    const folder = join(environment.variables.STORAGE_DIR as string, 'objects', client.accountId);
    expect((await readdir(folder)).toSorted()).toEqual(kept.map((id) => `${id}.webm`));

    const deleted = await service.database.query<{ id: string }>(
      `SELECT recording_id AS id FROM events WHERE account_id = $1 AND kind = 'recording.deleted'`,
      [client.accountId],
    );
    expect(deleted.map(({ id }) => id).toSorted()).toEqual(whole.toSorted());
    const [named] = await service.database.query<{ gone: number; others: number }>(
      `SELECT count(*) FILTER (WHERE recording_id = ANY ($2::uuid[]))::int AS gone,
         count(*) FILTER (WHERE recording_id <> ALL ($2::uuid[]))::int AS others
       FROM events WHERE account_id = $1 AND (body LIKE '%"ada"%' OR body LIKE '%T-1%' OR user_id IS NOT NULL)`,
      [client.accountId, whole],
    );
    expect(named).toEqual({ gone: 0, others: NOTES - whole.length });

    const audit = new CounterAuditService(service.database);
    expect(await audit.differences(client.accountId)).toEqual([]);
    const { body: quotas } = await client.get('/v1/account/quotas').expect(200);
    expect(quotas.quotas[0]).toMatchObject({ quota: 'stored_bytes', used: kept.length * 1000 });
    const { body: found } = await client.get('/v1/recordings?q=hello&limit=1').expect(200);
    expect(found.total).toBe(NOTES - whole.length);
  }, 180_000);
});
