import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { LiveRecordingsService } from '../../src/modules/live/live-recordings.service.js';
import { eventually } from '../../src/testing/eventually.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { appendParts, BEGUN, pcmPart, principalOf } from '../support/live/live-session.js';
import { ROOT } from '../support/paths.js';
import { useFleet } from '../support/service/fleet.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { ServiceProcess } from '../support/service/service-process.js';

/** A deliverer that is killed holds a recording for this long. */
const SETTINGS = { LEASE_SECONDS: '2', RECONCILE_SECONDS: '1' };
const WRITER = [join(ROOT, 'test/support/service/live-writer.mjs')];
const WAV_HEADER_BYTES = 44;

describe('a live recording survives every process (D91)', () => {
  const observer = useService({ ...SETTINGS, ROLES: 'api' });
  const { environment } = observer;
  const fleet = useFleet({ environment });

  const begin = async (client: ApiClient): Promise<string> => {
    const { recordingId } = await observer.app.get(LiveRecordingsService).begin(principalOf(client.accountId), BEGUN);
    return recordingId;
  };

  const filesUnder = async (folder: string): Promise<string[]> => {
    const path = join(environment.variables.STORAGE_DIR as string, folder);
    const found = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
    return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  };

  /** Waits for the file of each, which holds exactly this audio; nothing else is left, and everything is counted once. */
  async function expectFiles(accountId: string, audioOf: Map<string, Buffer>): Promise<void> {
    const { database } = observer;
    await eventually(async () => {
      // As if a transcriber were there, whose words the rows wait for.
      await database.query('UPDATE live_recordings SET words_ended_at = now() WHERE words_ended_at IS NULL');
      const left = await database.query('SELECT 1 FROM live_recordings UNION ALL SELECT 1 FROM live_audio LIMIT 1');
      return left.length === 0;
    });
    const rows = await database.query<{ id: string; key: string; bytes: number; ms: number; leased: boolean }>(
      `SELECT id, object_key AS key, file_size_bytes AS bytes, duration_ms AS ms, lease_until IS NOT NULL AS leased
       FROM recordings WHERE account_id = $1 AND status = 'processing'`,
      [accountId],
    );
    expect(rows.map(({ id }) => id).toSorted()).toEqual([...audioOf.keys()].toSorted());
    const objects = join(environment.variables.STORAGE_DIR as string, 'objects');
    for (const { id, key, ...row } of rows) {
      const audio = audioOf.get(id) as Buffer;
      const file = await readFile(join(objects, key));
      expect(file.subarray(WAV_HEADER_BYTES).equals(audio)).toBe(true);
      expect(row).toEqual({ bytes: file.length, ms: audio.length / 32, leased: false });
    }
    const [counted] = await database.query<object>(
      `SELECT sum(bytes)::int AS bytes, sum(duration_ms)::int AS ms, sum(queued_ms)::int AS queued,
         sum(accepted)::int AS accepted, sum(listed)::int AS listed
       FROM (SELECT bytes, duration_ms, queued_ms, accepted, listed FROM usage_counters WHERE account_id = $1
         UNION ALL SELECT bytes, duration_ms, queued_ms, accepted, listed FROM usage_counter_deltas WHERE account_id = $1) c`,
      [accountId],
    );
    const sum = (figure: 'bytes' | 'ms') => rows.reduce((total, row) => total + row[figure], 0);
    const [accepted, ms] = [rows.length, sum('ms')];
    expect(counted).toEqual({ bytes: sum('bytes'), ms, queued: ms, accepted, listed: accepted });
    await eventually(async () => {
      // As if the store could not be writing any more, and the files of a dead process were old.
      await database.query(
        `UPDATE object_removals SET remove_after = now()
         WHERE account_id IS NULL AND attempts = 0 AND remove_after > now() + interval '1 minute'`,
      );
      const longAgo = new Date(Date.now() - 3_600_000);
      for (const file of await filesUnder('spool')) await utimes(file, longAgo, longAgo).catch(() => undefined);
      const removals = await database.query('SELECT 1 FROM object_removals');
      return removals.length === 0 && (await filesUnder('spool')).length === 0;
    });
    expect(await filesUnder(join('objects', accountId))).toHaveLength(rows.length);
  }

  it('an API process that is killed while it appends: the client goes on at another, and nothing acknowledged is lost', async () => {
    const client = await observer.account();
    const recordingId = await begin(client);
    const audio = Buffer.concat(Array.from({ length: 150 }, (_, n) => pcmPart(n)));
    const order = { accountId: client.accountId, recordingId, audio: audio.toString('base64') };
    let acknowledged = 0;
    const writer = async (): Promise<ServiceProcess> => {
      const process = await ServiceProcess.start(environment, 'api', SETTINGS, { args: WRITER });
      process.child.on('message', ({ storedBytes = 0 }: { storedBytes?: number }) => (acknowledged = storedBytes));
      process.child.send(order);
      return process;
    };
    const killed = await writer();
    await eventually(async () => acknowledged > audio.length / 3);
    await killed.end('SIGKILL');
    const { audio: kept, storedBytes } = await observer.app
      .get(LiveRecordingsService)
      .read(recordingId, 0, audio.length);
    // The last part may be durable without its answer; no other may be there, and none may be missing.
    expect(storedBytes - acknowledged).toBeGreaterThanOrEqual(0);
    expect(storedBytes - acknowledged).toBeLessThanOrEqual(3200);
    expect(kept.equals(audio.subarray(0, storedBytes))).toBe(true);
    const last = await writer();
    await eventually(async () => acknowledged === audio.length);
    await last.end('SIGKILL');
    await observer.app.get(LiveRecordingsService).end(recordingId, 'finished');
    await fleet.process('deliverer', SETTINGS);
    await expectFiles(client.accountId, new Map([[recordingId, audio]]));
    reportMeasurement(`live recording of ${audio.length} bytes, its process killed: lost 0, doubled 0`);
  });

  it('a deliverer that is killed with the object stored, but not its row: the next one stores it once', async () => {
    const client = await observer.account();
    const live = observer.app.get(LiveRecordingsService);
    const recordingId = await begin(client);
    const audio = await appendParts(live, { recordingId }, 20);
    await live.end(recordingId, 'finished');
    const lock = await fleet.postgres();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM recordings WHERE id = $1 FOR UPDATE', [recordingId]);
    const first = await fleet.process('deliverer', SETTINGS);
    await eventually(async () => (await filesUnder(join('objects', client.accountId))).length === 1);
    await first.end('SIGKILL');
    await lock.query('COMMIT');
    await fleet.process('deliverer', SETTINGS);
    await expectFiles(client.accountId, new Map([[recordingId, audio]]));
  });

  it('deliverers that are killed at any moment: each recording gets its file once', async () => {
    const client = await observer.account();
    const live = observer.app.get(LiveRecordingsService);
    const audioOf = new Map<string, Buffer>();
    for (let i = 0; i < 12; i++) {
      const recordingId = await begin(client);
      audioOf.set(recordingId, await appendParts(live, { recordingId }, 10 + i));
      await live.end(recordingId, 'finished');
    }
    const stored = async (): Promise<number> => {
      const rows = await observer.database.query(
        'SELECT 1 FROM recordings WHERE account_id = $1 AND file_size_bytes > 0',
        [client.accountId],
      );
      return rows.length;
    };
    for (const count of [1, 4]) {
      const killed = await fleet.process('deliverer', { ...SETTINGS, LOG_LEVEL: 'error' });
      await eventually(async () => (await stored()) >= count);
      await killed.end('SIGKILL');
    }
    await fleet.process('deliverer', SETTINGS);
    await expectFiles(client.accountId, audioOf);
  });

  it('without Postgres for a while: what was acknowledged is there, and the next part goes on behind it', async () => {
    const client = await observer.account();
    const recordingId = await begin(client);
    const proxy = await fleet.proxyTo('DATABASE_URL');
    const redis = await fleet.proxyTo('REDIS_URL');
    const api = await fleet.service('api', { ...SETTINGS, DATABASE_URL: proxy.url, REDIS_URL: redis.url });
    const live = api.app.get(LiveRecordingsService);
    const parts = Array.from({ length: 12 }, (_, n) => pcmPart(n));
    let stored = 0;
    for (const [n, part] of parts.entries()) {
      if (n === 3) await redis.cut();
      if (n === 6) {
        await proxy.cut();
        await expect(live.append(recordingId, stored, part)).rejects.toThrow();
        await proxy.mend();
      }
      if (n === 9) await redis.mend();
      stored = await eventually(() => live.append(recordingId, stored, part).catch(() => false as const));
    }
    await live.end(recordingId, 'finished');
    await fleet.process('deliverer', SETTINGS);
    await expectFiles(client.accountId, new Map([[recordingId, Buffer.concat(parts)]]));
  });
});
