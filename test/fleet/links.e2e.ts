import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { LinkSource } from '../support/servers/link-source.js';
import { useFleet } from '../support/service/fleet.js';

const WAV = silenceWav(1);
/** A worker that is killed holds a link for this long. */
const SETTINGS = { LEASE_SECONDS: '3' };

describe('a worker that is killed while it fetches a link (D72)', () => {
  const observer = useService({ ...SETTINGS, ROLES: 'api' });
  const { environment } = observer;
  const fleet = useFleet({ environment });
  let source: LinkSource;

  beforeEach(async () => {
    source = await LinkSource.listen();
    fleet.defer(() => source.close());
  });

  const filesUnder = async (folder: string): Promise<string[]> => {
    const path = join(environment.variables.STORAGE_DIR as string, folder);
    const found = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
    return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  };

  /** As if the time after which the files of a dead process are removed had gone by. */
  async function ageSpool(): Promise<void> {
    const longAgo = new Date(Date.now() - 3_600_000);
    for (const file of await filesUnder('spool')) await utimes(file, longAgo, longAgo).catch(() => undefined);
  }

  async function isFetched(id: string): Promise<boolean> {
    const links = await observer.database.query('SELECT 1 FROM recording_links WHERE recording_id = $1', [id]);
    return links.length === 0;
  }

  /** The file is stored and counted once, and nothing else is left of any attempt. */
  async function expectExactlyOne(accountId: string, id: string): Promise<void> {
    const [row] = await observer.database.query<object>(
      `WITH counted AS (
         SELECT bytes, duration_ms, queued_ms, accepted FROM usage_counters WHERE account_id = $1
         UNION ALL SELECT bytes, duration_ms, queued_ms, accepted FROM usage_counter_deltas WHERE account_id = $1)
       SELECT r.file_size_bytes AS bytes, r.duration_ms AS ms, r.status, r.lease_until AS "leaseUntil",
         (SELECT sum(bytes)::int FROM counted) AS "countedBytes", (SELECT sum(duration_ms)::int FROM counted) AS "countedMs",
         (SELECT sum(queued_ms)::int FROM counted) AS "queuedMs", (SELECT sum(accepted)::int FROM counted) AS accepted
       FROM recordings r WHERE r.id = $2`,
      [accountId, id],
    );
    expect(row).toEqual({
      bytes: WAV.length,
      ms: 1000,
      status: 'processing',
      leaseUntil: null,
      countedBytes: WAV.length,
      countedMs: 1000,
      queuedMs: 1000,
      accepted: 1,
    });
    await eventually(async () => {
      await ageSpool();
      // As if the store could not be writing any more.
      await observer.database.query(
        `UPDATE object_removals SET remove_after = now()
         WHERE object_key LIKE '%' || $1 || '%' AND account_id IS NULL AND remove_after > now() + interval '1 minute'`,
        [id],
      );
      const left = await observer.database.query(
        `SELECT 1 FROM object_removals WHERE object_key LIKE '%' || $1 || '%'`,
        [id],
      );
      return left.length === 0 && (await filesUnder('spool')).length === 0;
    });
    expect(await filesUnder(join('objects', accountId))).toHaveLength(1);
  }

  it('in the middle of the file: another fetches it anew', async () => {
    const client = await observer.account();
    let isHeld = true;
    const url = source.serve('/held.wav', (_, response: ServerResponse) => {
      response.writeHead(200, { 'Content-Length': WAV.length });
      if (isHeld) response.write(WAV.subarray(0, 1000));
      else response.end(WAV);
    });
    const first = await fleet.process('deliverer', SETTINGS);
    const { body } = await client.post('/v1/recordings', { url }).expect(201);
    await eventually(async () => (await filesUnder('spool')).length === 1);
    await first.end('SIGKILL');
    isHeld = false;
    await fleet.process('deliverer', SETTINGS);
    await eventually(() => isFetched(body.id as string));
    await expectExactlyOne(client.accountId, body.id as string);
    expect(source.requestsOf('/held.wav')).toHaveLength(2);
  });

  it('with its object stored, but not its row: the next one removes that, and what it reserved', async () => {
    const client = await observer.account();
    const url = source.serve('/stored.wav', (_, response: ServerResponse) => void response.end(WAV));
    const { body } = await client.post('/v1/recordings', { url }).expect(201);
    const lock = await fleet.postgres();
    await lock.query('BEGIN');
    await lock.query('SELECT FROM recordings WHERE id = $1 FOR UPDATE', [body.id]);
    const first = await fleet.process('deliverer', SETTINGS);
    await eventually(async () => (await filesUnder(join('objects', client.accountId))).length === 1);
    await first.end('SIGKILL');
    await lock.query('COMMIT');
    const next = await fleet.process('deliverer', SETTINGS);
    await eventually(() => isFetched(body.id as string));
    // The store may yet write what the first has sent: its key is kept, and removed again later.
    const kept = await observer.database.query<object>(
      `SELECT object_key LIKE '%/' || $1 || '.wav' AS "isFirst", account_id AS counts, bytes FROM object_removals
       WHERE object_key LIKE '%' || $1 || '%' AND remove_after > now() + interval '1 minute'`,
      [body.id],
    );
    expect(kept).toEqual([{ isFirst: true, counts: null, bytes: null }]);
    await expectExactlyOne(client.accountId, body.id as string);
    expect(next.log()).not.toContain('link outcome not saved');
  });

  it('is not begun by one whose disk is almost full, as no upload is', async () => {
    const client = await observer.account();
    const url = source.serve('/room.wav', (_, response: ServerResponse) => void response.end(WAV));
    const full = await fleet.process('deliverer', {
      ...SETTINGS,
      STORAGE_MIN_FREE_BYTES: `${2 ** 52}`,
      LOG_LEVEL: 'error',
    });
    const { body } = await client.post('/v1/recordings', { url }).expect(201);
    await eventually(() => full.log().includes('storage almost full'));
    expect(source.requestsOf('/room.wav')).toEqual([]);
    await fleet.process('deliverer', SETTINGS);
    await eventually(() => isFetched(body.id as string));
    await expectExactlyOne(client.accountId, body.id as string);
  });
});
