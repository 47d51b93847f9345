import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { KNOWN_TABLES, selectArchivedTables } from '../../../src/modules/archives/account-tables.js';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { ROOT } from '../../support/paths.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { signIn } from '../../support/http/session-client.js';
import { commandRunner } from '../../support/service/cli.js';
import { insertRecordings } from '../../support/state/inserted-rows.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const service = useService({ ROLES: 'api' });
const { environment } = service;
const run = commandRunner();

type Variables = Record<string, string>;

const purge = async ({ accountId }: Pick<ApiClient, 'accountId'>, args: string[] = [], variables: Variables = {}) => {
  const all = { variables: { ...environment.variables, ...variables } };
  const said = await run(all, 'account:purge', '--account', accountId, '--json', ...args);
  return { ...said, result: said.stdout ? JSON.parse(said.stdout) : null };
};

const verifyClosed = async ({ accountId }: Pick<ApiClient, 'accountId'>) => {
  const { code, stdout } = await run(environment, 'account:verify-closed', '--account', accountId, '--json');
  return { code, result: JSON.parse(stdout) as { advice: string; left: Record<string, number> } };
};

async function columnsOf(table: string): Promise<string[]> {
  const rows = await service.database.query<{ name: string }>(
    'SELECT column_name AS name FROM information_schema.columns WHERE table_name = $1',
    [table],
  );
  return rows.map(({ name }) => name);
}

/** Rows of each table of which any column has any of these ids. */
async function rowsThatName(ids: readonly string[]): Promise<Record<string, number>> {
  const tables = await service.database.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`,
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables) {
    const [row] = await service.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${name} t WHERE t::text ~ $1`,
      [ids.join('|')],
    );
    counts[name] = row?.count ?? -1;
  }
  return counts;
}

/** A recording in each state, and a row of everything else. */
async function accountWithEverything(): Promise<ApiClient> {
  const client = await service.account();
  const hook = { url: 'https://hooks.example.com/', events: ['recording.transcribed', 'recording.failed'] };
  await client.post('/v1/webhooks', hook).expect(201);
  await upload(client);
  await transcribe(service, await upload(client));
  await fail(service, await upload(client));
  await client.upload(silenceWav(0.1)).set('Idempotency-Key', 'one').expect(201);
  return client;
}

/** A client with a test key of the account, and so of its test account. */
async function testClientOf(live: ApiClient): Promise<ApiClient> {
  const { body } = await live.post('/v1/account/api-keys', { name: 'Test', mode: 'test' }).expect(201);
  const credentials = { id: body.id, key: body.api_key, secret: body.api_secret };
  const found = await live.get(`/v1/account/api-keys/${body.id}`).expect(200);
  return new ApiClient(service.url, found.body.tenant_id as string, credentials);
}

/** Copies of the account's first recording, with a file each. */
async function addRecordings({ accountId }: ApiClient, count: number): Promise<void> {
  const [row] = await service.database.query<Record<string, unknown>>(
    `SELECT * FROM recordings WHERE account_id = $1 AND status = 'processing' ORDER BY id LIMIT 1`,
    [accountId],
  );
  const columns = Object.keys(row ?? {}).filter((column) => column !== 'id' && column !== 'object_key');
  const added = await service.database.query<{ object_key: string }>(
    `INSERT INTO recordings (id, object_key, ${columns.join()})
     SELECT new.id, account_id || '/2026/11/' || new.id || '.wav', ${columns.join()}
     FROM recordings, (SELECT gen_random_uuid() AS id FROM generate_series(1, $2::int)) new
     WHERE recordings.id = $1 RETURNING object_key`,
    [row?.id, count],
  );
  const paths = added.map(({ object_key: key }) => join(environment.variables.STORAGE_DIR as string, 'objects', key));
  await mkdir(dirname(paths[0] as string), { recursive: true });
  await Promise.all(paths.map((path) => writeFile(path, 'sound')));
}

const recordingsOf = async ({ accountId }: ApiClient): Promise<number> =>
  (await service.database.query('SELECT id FROM recordings WHERE account_id = $1', [accountId])).length;

const folderOf = ({ accountId }: ApiClient): string =>
  join(environment.variables.STORAGE_DIR as string, 'objects', accountId);

function expectNothingLeft(left: Record<string, number>): void {
  expect(Object.keys(left)).toEqual(
    expect.arrayContaining([
      'accounts',
      'transcriptions',
      'search_documents',
      'deliveries',
      'live_audio',
      'keys in Redis',
    ]),
  );
  expect(left).toEqual(Object.fromEntries(Object.keys(left).map((name) => [name, 0])));
}

describe('account:purge', () => {
  it('removes a suspended account with all its audio and rows, proves it, and touches no other', async () => {
    const [client, other] = await Promise.all([accountWithEverything(), accountWithEverything()]);
    const test = await testClientOf(client);
    await upload(test);
    const refused = await purge(client);
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/is active\. Suspend it first/),
    });
    expect(await recordingsOf(client)).toBe(4);

    await service.database.query(
      `CREATE FUNCTION require_no_limit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF current_setting('statement_timeout') <> '0' THEN RAISE EXCEPTION 'the statement has a time limit'; END IF;
         RETURN OLD;
       END $$`,
    );
    await service.database.query(
      'CREATE TRIGGER require_no_limit BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION require_no_limit()',
    );
    const { code, stderr, result } = await purge(client, ['--yes']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await service.database.query('DROP FUNCTION require_no_limit CASCADE');
    expect(result).toMatchObject({ found: true, removed: { recordings: 5, objects: 5 }, advice: 'Nothing is left.' });
    expectNothingLeft(result.left);
    for (const gone of [client, test]) {
      await expect(access(folderOf(gone))).rejects.toMatchObject({ code: 'ENOENT' });
      await eventually(async () => (await gone.get('/v1/account')).status === 401);
    }

    expect(await recordingsOf(other)).toBe(4);
    await access(folderOf(other));
    await other.get('/v1/account').expect(200);
  });

  it('leaves no row in any table that names the account or anything of it, and account:verify-closed counts again', async () => {
    const client = await accountWithEverything();
    const { session } = await signIn(service, client.accountId, { email: 'ada@example.com' });
    const [recording] = await insertRecordings(service, client, { status: `'transcribed'` });
    await client.post(`/v1/recordings/${recording}/shares`, {}).expect(201);
    await service.database.query(`INSERT INTO live_audio (recording_id, byte_offset, audio) VALUES ($1, 0, '')`, [
      recording,
    ]);
    const ids = [client.accountId, session.id, session.person.id];
    for (const { name } of await selectArchivedTables(service.database)) {
      if (!(await columnsOf(name)).includes('id') || !(await columnsOf(name)).includes('account_id')) continue;
      const rows = await service.database.query<{ id: string }>(`SELECT id FROM ${name} WHERE account_id = $1`, [
        client.accountId,
      ]);
      ids.push(...rows.map(({ id }) => id).filter((id) => id.length === 36));
    }
    expect(ids.length).toBeGreaterThan(15);
    expect(Object.values(await rowsThatName(ids)).filter((count) => count > 0).length).toBeGreaterThan(15);
    const open = await verifyClosed(client);
    expect(open).toMatchObject({ code: 1, result: { advice: 'Run account:purge.' } });
    expect(open.result.left).toMatchObject({ accounts: 1, recordings: 5, sessions: 1, api_keys: 1, live_audio: 0 });

    const { code, result } = await purge(client, ['--yes']);
    expect(code).toBe(0);
    expect(result.removed).toMatchObject({
      recordings: 5,
      rows: { accounts: 1, recordings: 5, transcriptions: 1, people: 1, shares: 1, live_audio: 1, webhooks: 1 },
    });
    // Ids alone, so that no restored backup brings the accounts back (docs/decisions/0047).
    const { erasures, ...tables } = await rowsThatName(ids);
    expect(erasures).toBeGreaterThanOrEqual(2);
    expect(tables).toEqual(Object.fromEntries(Object.keys(tables).map((name) => [name, 0])));
    const closed = await verifyClosed(client);
    expect(closed).toMatchObject({ code: 0, result: { advice: 'Nothing is left.' } });
    expectNothingLeft(closed.result.left);
  });

  it('knows of every table what an archive of an account has of it', async () => {
    const tables = await service.database.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
    );
    expect(tables.map(({ name }) => name)).toEqual([...KNOWN_TABLES].toSorted());
  });

  it('that was killed in the middle is continued, and one that has ended says so', async () => {
    const client = await accountWithEverything();
    await addRecordings(client, 3000);
    await service.app.get(AccountService).update(client.accountId, { status: 'suspended' });
    const args = ['dist/commands/cli.js', 'account:purge', '--account', client.accountId];
    const env = { PATH: process.env.PATH, ...environment.variables };
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore' });
    const ended = once(child, 'exit');
    await eventually(async () => (await recordingsOf(client)) < 3004);
    child.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    const left = await recordingsOf(client);
    expect(left).toBeGreaterThan(0);

    // A worker that died had begun to remove this one.
    await service.database.query(
      `INSERT INTO object_removals (object_key, remove_after, attempts) VALUES ($1, now() + interval '1 hour', 1)`,
      [`${client.accountId}/2026/11/${client.accountId}.wav`],
    );

    const { code, result } = await purge(client);
    expect(code).toBe(0);
    expect(result.removed.recordings).toBe(left);
    expectNothingLeft(result.left);
    const again = await purge(client);
    expect(again).toMatchObject({ code: 0, result: { found: false, removed: { recordings: 0, objects: 0 } } });
  });

  it('refuses a storage that has none of the audio, and removes what an earlier run left there alone', async () => {
    const client = await accountWithEverything();
    const elsewhere = await mkdtemp(join(tmpdir(), 'voice-notes-elsewhere-'));
    const wrong = await purge(client, ['--yes'], { STORAGE_DIR: elsewhere });
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/4 recordings, .* none of their audio/) });
    expect(await recordingsOf(client)).toBe(4);
    await client.get('/v1/account').expect(200);
    await rm(elsewhere, { recursive: true });

    await service.database.query('DELETE FROM accounts WHERE id = $1', [client.accountId]);
    expect(await purge(client)).toMatchObject({ code: 0, result: { found: false, removed: { objects: 4 } } });
    await expect(access(folderOf(client))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('removes the audio from S3', async () => {
    const s3 = await FakeS3.start();
    const variables = {
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: s3.url,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: 'test-key-id',
      S3_SECRET_ACCESS_KEY: 'test-secret-key',
    };
    const remote = await startService(environment, { ROLES: 'api', ...variables });
    const [client, other] = await Promise.all([remote.account(), remote.account()]);
    for (let i = 0; i < 5; i++) await upload(client);
    await upload(other);
    s3.objects.set(`${client.accountId}/2026/11/forgotten.wav`, Buffer.from('an orphan'));

    const { code, result } = await purge(client, ['--yes'], variables);
    expect({ code, result }).toMatchObject({ code: 0, result: { removed: { recordings: 5, objects: 6 } } });
    expectNothingLeft(result.left);
    expect([...s3.objects.keys()]).toEqual([expect.stringMatching(new RegExp(`^${other.accountId}/`))]);
    await remote.close();
    await s3.stop();
  });
});
