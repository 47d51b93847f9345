import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import request from 'supertest';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { runAdmin } from '../../../src/commands/admin/admin-program.js';
import { backupKeyOf } from '../../../src/modules/backups/backup-destination.js';
import { asOnlyBackup, inSnapshot } from '../../../src/modules/backups/database-copy.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { MIGRATION_LOCK } from '../../../src/platform/database/schema.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { signIn } from '../../support/http/session-client.js';
import { ROOT } from '../../support/paths.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { commandRunner, runCli, runHere } from '../../support/service/cli.js';
import { contentOf, emptyInstallation, newFolder, onServer } from '../../support/state/empty-installation.js';
import { transcribe } from '../../support/state/recording-states.js';

type Variables = Record<string, string>;

const service = useService({ ROLES: 'api' });
const { environment } = service;
const run = commandRunner();

const folder = (): Promise<string> => newFolder(environment, 'backups');
const restored = async (): Promise<Variables> => ({
  ...environment.variables,
  ...(await emptyInstallation(environment)),
});

/** What the commands print, each some of it. */
interface Printed {
  objects: number;
  copied: number;
  erasures: number;
  restored: { objects: number };
  erased_again: Record<string, number>;
  backups: { backup: string; at: string }[];
}

/** @returns what a command printed, which must have ended well. */
async function admin(variables: Variables, ...args: string[]): Promise<Printed> {
  // The client of S3 writes a warning, in ways that only a real stream has.
  const runIt = variables.S3_ENDPOINT === undefined ? run : runCli;
  const { code, stdout, stderr } = await runIt({ variables }, ...args, '--json');
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as Printed;
}

const backup = (place: string, ...args: string[]) => admin(environment.variables, 'backup', '--place', place, ...args);

const keyOf = async (id: string): Promise<string> => {
  const [row] = await service.database.query<{ key: string }>(
    'SELECT object_key AS key FROM recordings WHERE id = $1',
    [id],
  );
  return (row as { key: string }).key;
};

const storedObjects = async (place: string): Promise<string[]> => {
  const entries = await readdir(join(place, 'objects'), { recursive: true, withFileTypes: true });
  return entries.flatMap((entry) => (entry.isFile() ? entry.name : [])).toSorted();
};

const backups = async (place: string): Promise<{ backup: string; at: string }[]> =>
  (await admin(environment.variables, 'backup:list', '--place', place)).backups;

/** What a restore changes on purpose, beside the rows that it deletes. */
const CHANGED = {
  accounts: ['credential_version'],
  recordings: ['bucket'],
  event_sequences: ['last'],
  backup_state: ['last_success_at', 'last_backup'],
  migrations: ['id'],
};
const EMPTIED = new Set(['sessions', 'sign_in_links', 'sign_in_mails', 'account_exports', 'access_token_voids']);

function comparable(content: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(content).filter(([name]) => !EMPTIED.has(name)));
}

async function someNotes(client: ApiClient, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const { body } = await client.upload(silenceWav(0.1 + i / 100), { custom_tags: '{"n":"\\\\t"}' }).expect(201);
    ids.push(body.id as string);
  }
  return ids;
}

async function asUser({ url }: ApiClient, token: string, path: string): Promise<number> {
  return (await request(url).get(path).set('Authorization', `Bearer ${token}`)).status;
}

/** Uploads as an end user. @returns the id of the recording */
async function uploadAs(by: ApiClient, identity: string): Promise<string> {
  const { body } = await by.post('/v1/account/access-tokens', { identity }).expect(201);
  const sending = request(by.url).post('/v1/recordings').set('Authorization', `Bearer ${body.token}`);
  return (await sending.attach('file', silenceWav(0.1), 'note.wav').expect(201)).body.id as string;
}

describe('a backup', () => {
  it('is restored row by row and byte by byte, from disk onto S3 and back', async () => {
    const client = await service.account();
    const ids = await someNotes(client, 3);
    await transcribe(service, ids[0] as string, { text: 'tab\there, back\\slash, and „Umlaute“ 🎙' });
    await client
      .post('/v1/webhooks', { url: 'https://example.com/hook', events: ['recording.transcribed'] })
      .expect(201);
    await signIn(service, client.accountId, { email: 'ada@example.com' });
    // Saved a while after the requests.
    await eventually(async () => {
      const used = 'SELECT 1 FROM api_keys WHERE account_id = $1 AND usage_count = $2';
      return (await service.database.query(used, [client.accountId, ids.length + 1])).length === 1;
    });
    const place = await folder();
    const made = await backup(place);
    expect(made).toMatchObject({ missing: 0, erased_meanwhile: 0 });
    const before = comparable(await contentOf(environment.variables.DATABASE_URL as string, CHANGED));

    const s3 = await FakeS3.start('restored');
    environment.defer(() => s3.stop());
    const keys = { S3_ACCESS_KEY_ID: 'any', S3_SECRET_ACCESS_KEY: 'any' };
    const onS3: Variables = {
      ...keys,
      ...(await restored()),
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: s3.url,
      S3_BUCKET: 'restored',
    };
    const result = await admin(onS3, 'restore', '--place', place);
    expect(result.restored.objects).toBe(made.objects);
    expect(comparable(await contentOf(onS3.DATABASE_URL as string, CHANGED))).toEqual(before);
    expect(s3.objects.size).toBe(made.objects);
    for (const id of ids) {
      const key = await keyOf(id);
      const stored = await readFile(join(environment.variables.STORAGE_DIR as string, 'objects', key));
      expect(s3.objects.get(key)).toEqual(stored);
    }

    // The backup of what was restored, into the same bucket, is restored onto a disk.
    const s3Place = 's3://restored/backups/nightly';
    await admin(onS3, 'backup', '--place', s3Place);
    const onDisk = await restored();
    await admin({ ...onDisk, ...keys, S3_ENDPOINT: s3.url }, 'restore', '--place', s3Place);
    expect(comparable(await contentOf(onDisk.DATABASE_URL as string, CHANGED))).toEqual(before);
    const key = await keyOf(ids[1] as string);
    expect(await readFile(join(onDisk.STORAGE_DIR as string, 'objects', key))).toEqual(s3.objects.get(key));
  }, 120_000);

  it('serves after its restore: keys work, sessions and access tokens do not, numbers of events go on further', async () => {
    const client = await service.account();
    const [id] = await someNotes(client, 1);
    await transcribe(service, id as string, { text: 'hello' });
    const session = await signIn(service, client.accountId, { email: 'ada@example.com' });
    const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'ada' }).expect(201);
    const { body: feed } = await client.get('/v1/events?after=0').expect(200);
    const place = await folder();
    await backup(place);
    const variables = await restored();
    await admin(variables, 'restore', '--place', place);

    const again = await startService(environment, { ...variables, ROLES: 'api' });
    const owner = client.at(again.url);
    await owner.get(`/v1/recordings/${id}/transcription`).expect(200);
    expect((await owner.get(`/v1/recordings/${id}/audio`).expect(200)).body.length).toBeGreaterThan(1000);
    await session.at(again.url).get('/v1/account').expect(401);
    expect(await asUser(owner, token.token, '/v1/recordings')).toBe(401);
    const { body: fresh } = await owner.post('/v1/account/access-tokens', { identity: 'ada' }).expect(201);
    // It may not list recordings.
    expect(await asUser(owner, fresh.token, '/v1/recordings')).toBe(403);
    const [next] = await someNotes(owner, 1);
    await transcribe(again, next as string, { text: 'again' });
    const last = feed.events.at(-1).sequence as number;
    const { body: later } = await owner.get(`/v1/events?after=${last}`).expect(200);
    expect(later.events[0].sequence).toBeGreaterThan(last + 1000);
    await again.close();
  }, 120_000);

  it('copies only what the last one has not, and keeps what a kept one names', async () => {
    const client = await service.account();
    const [first, second] = await someNotes(client, 2);
    const place = await folder();
    const all = await backup(place);
    expect(all.copied).toBe(all.objects);
    const key = await keyOf(first as string);
    await client.delete(`/v1/recordings/${first}`).expect(204);
    const [third] = await someNotes(client, 1);
    expect(await backup(place)).toMatchObject({ copied: 1, objects: all.objects });
    expect(await storedObjects(place)).toHaveLength(all.objects + 1);

    const kept = await backup(place, '--keep', '2');
    expect(kept).toMatchObject({ copied: 0, removed_backups: 1 });
    expect(await backups(place)).toHaveLength(2);
    const stored = await storedObjects(place);
    expect(stored).toHaveLength(all.objects);
    expect(stored.some((name) => key.endsWith(name))).toBe(false);
    for (const id of [second, third]) expect(stored).toContain((await keyOf(id as string)).split('/').at(-1));
    const again = await admin(environment.variables, 'backup:verify', '--place', place);
    expect(again).toMatchObject({ damaged: [], verified: { objects: all.objects } });
    expect(await backup(place, '--full')).toMatchObject({ copied: all.objects });
  }, 120_000);

  it('that was killed is not taken for one: the next copies what is left, and removes what nobody needs', async () => {
    const client = await service.account();
    await service.database.query('TRUNCATE recordings CASCADE');
    const ids = await someNotes(client, 3);
    const total = 12_000;
    // Rows alone: their objects are copies of one file.
    const model = await keyOf(ids[0] as string);
    await service.database.query(
      `INSERT INTO recordings SELECT copied.* FROM recordings r, generate_series(1, $2::int) i,
         jsonb_populate_record(r, jsonb_build_object('id', md5('killed' || i)::uuid,
           'object_key', account_id || '/k/' || i || '.wav')) copied WHERE r.id = $1`,
      [ids[0], total],
    );
    const objects = join(environment.variables.STORAGE_DIR as string, 'objects');
    const bytes = await readFile(join(objects, model));
    await mkdir(join(objects, client.accountId, 'k'), { recursive: true });
    const names = Array.from({ length: total }, (_, i) => join(objects, client.accountId, 'k', `${i + 1}.wav`));
    for (let i = 0; i < total; i += 500)
      await Promise.all(names.slice(i, i + 500).map((name) => writeFile(name, bytes)));
    const place = await folder();
    const env = { PATH: process.env.PATH, ...environment.variables };
    const args = ['dist/commands/cli.js', 'backup', '--place', place];
    const killed = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'ignore' });
    const listsOf = async (): Promise<string[]> =>
      (await readdir(place, { recursive: true }).catch(() => [])).filter((name) => name.includes('/objects-'));
    await eventually(async () => (await listsOf()).length >= 1, 60_000);
    const ended = once(killed, 'exit');
    killed.kill('SIGKILL');
    await ended;
    expect(await backups(place)).toEqual([expect.objectContaining({ at: 'interrupted' })]);
    const refused = await run({ variables: await restored() }, 'restore', '--place', place);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('has no complete backup') });
    const half = await storedObjects(place);
    expect(half.length).toBeGreaterThan(4500);
    expect(half.length).toBeLessThan(total);

    // What only the interrupted one has is deleted meanwhile.
    const gone = half.find((name) => /^\d+\.wav$/.test(name));
    await service.database.query('DELETE FROM recordings WHERE object_key = $1', [`${client.accountId}/k/${gone}`]);
    const made = await backup(place);
    expect(made.objects).toBe(total + 3 - 1);
    expect(made.copied).toBeLessThan(made.objects - 4500);
    expect(await backups(place)).toHaveLength(1);
    const stored = await storedObjects(place);
    expect(stored).toHaveLength(made.objects);
    expect(stored).not.toContain(gone);
  }, 240_000);
});

describe('while the rows of a backup are copied', () => {
  const env = () => readEnv(environment.variables);
  const held = `SELECT NOT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS held`;

  it('requests are served, migrations wait, and a second backup is refused', async () => {
    const client = await service.account();
    const [id] = await someNotes(client, 1);
    const seen = await asOnlyBackup(env(), () =>
      inSnapshot(
        env(),
        () => undefined,
        async (snapshot, { tables }) => {
          for (const { name } of tables) await snapshot.query(`SELECT 1 FROM ${name} LIMIT 1`);
          expect(await service.database.query(held)).toEqual([{ held: true }]);
          const [later] = await someNotes(client, 1);
          await client.patch(`/v1/recordings/${later}`, { title: 'Later' }).expect(200);
          await client.delete(`/v1/recordings/${id}`).expect(204);
          const second = await run(environment, 'backup', '--place', await folder());
          expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining('Another backup or restore') });
          const { rows } = await snapshot.query('SELECT id FROM recordings WHERE account_id = $1', [client.accountId]);
          return rows;
        },
      ),
    );
    expect(seen).toEqual([{ id }]);
    expect(await service.database.query(held)).toEqual([{ held: false }]);
  }, 60_000);

  it('it begins after a migration that is in progress', async () => {
    const said: string[] = [];
    let copied: Promise<string> | undefined;
    await service.database.transact(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      copied = inSnapshot(
        env(),
        (message) => said.push(message),
        async () => 'copied',
      );
      await eventually(() => said.length > 0);
      expect(await Promise.race([copied, Promise.resolve('waiting')])).toBe('waiting');
    });
    expect(await copied).toBe('copied');
    expect(said).toEqual(['A migration is in progress. Trying again every second.']);
  }, 60_000);
});

describe('a damaged backup', () => {
  it('names what is damaged, and restores no row', async () => {
    await service.database.query('TRUNCATE recordings CASCADE');
    const client = await service.account();
    const [first, second] = await someNotes(client, 2);
    const place = await folder();
    await backup(place);
    const [damaged, missing] = [backupKeyOf(await keyOf(first as string)), backupKeyOf(await keyOf(second as string))];
    const file = join(place, damaged);
    const bytes = await readFile(file);
    bytes[60] = (bytes[60] as number) ^ 1;
    await writeFile(file, bytes);

    const verified = await run(environment, 'backup:verify', '--place', place, '--json');
    expect(verified.code).toBe(1);
    expect(JSON.parse(verified.stdout).damaged).toEqual([damaged]);
    const variables = await restored();
    const refused = await run({ variables }, 'restore', '--place', place);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(damaged);
    expect(refused.stderr).not.toContain(missing);
    expect(await onServer(variables.DATABASE_URL as string, 'SELECT id FROM accounts')).toEqual([]);

    const full = await run({ variables }, 'restore', '--place', place, '--allow-damaged');
    expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('Restore into an empty storage') });
    const args = ['restore', '--place', place, '--allow-damaged', '--continue', '--json'];
    const rest = await run({ variables }, ...args);
    expect(rest.code).toBe(2);
    expect(JSON.parse(rest.stdout)).toMatchObject({ left_out: [damaged], restored: { objects: 1 } });
  }, 120_000);

  it.each([
    ['the rows of a table', /\/rows-recordings-/],
    ['a list of objects', /\/objects-/],
    ['the manifest', /manifest\.json$/],
    ['what was erased since', /erasures\//],
  ])(
    'a changed byte in %s is found before anything is restored',
    async (_, pattern) => {
      const client = await service.account();
      const [id] = await someNotes(client, 2);
      const place = await folder();
      await client.delete(`/v1/recordings/${id}`).expect(204);
      await backup(place);
      const file = (await readdir(place, { recursive: true })).find((name) => pattern.test(name)) as string;
      const bytes = await readFile(join(place, file));
      const at = Math.floor(bytes.length / 2);
      bytes[at] = (bytes[at] as number) ^ 1;
      await writeFile(join(place, file), bytes);
      const variables = await restored();
      const refused = await run({ variables }, 'restore', '--place', place);
      expect(refused.code).toBe(1);
      expect(refused.stderr).toMatch(/damaged/i);
      expect(await readdir(join(variables.STORAGE_DIR as string, 'objects'))).toEqual([]);
      const made = await onServer<{ there: boolean }>(
        variables.DATABASE_URL as string,
        `SELECT coalesce((SELECT true FROM pg_tables WHERE tablename = 'accounts'), false) AS there`,
      );
      if (made[0]?.there)
        expect(await onServer(variables.DATABASE_URL as string, 'SELECT id FROM accounts')).toEqual([]);
    },
    120_000,
  );
});

describe('what was erased after a backup', () => {
  it('does not come back', async () => {
    const client = await service.account();
    const closed = await service.account();
    const [kept, gone, silent] = await someNotes(client, 3);
    const ofUser = await uploadAs(client, 'ada@example.com');
    await transcribe(service, ofUser, { text: 'what ada said' });
    const [inClosed] = await someNotes(closed, 1);
    const second = await service.key(client, ['recordings:read']);
    const { body: hook } = await client
      .post('/v1/webhooks', { url: 'https://example.com/hook', events: ['recording.transcribed'] })
      .expect(201);
    const [deletedEarlier] = await someNotes(client, 1);
    await client.delete(`/v1/recordings/${deletedEarlier}`).expect(204);
    const place = await folder();
    await backup(place);

    await client.delete(`/v1/recordings/${gone}`).expect(204);
    await service.database.query('UPDATE recordings SET audio_deleted_at = now() WHERE id = $1', [silent]);
    await client.delete(`/v1/account/api-keys/${second.credentials.id}`).expect(204);
    await client.delete(`/v1/webhooks/${hook.id}`).expect(204);
    await client.delete('/v1/users/ada%40example.com').expect(202);
    await admin(environment.variables, 'account:purge', '--account', closed.accountId, '--yes');
    const told = await backup(place, '--only-erasures');
    expect(told.erasures).toBeGreaterThanOrEqual(7);

    const variables = await restored();
    const result = await admin(variables, 'restore', '--place', place);
    expect(result.erased_again).toEqual({ user: 1, recording: 3, audio: 1, account: 1, api_key: 1, webhook: 1 });
    const query = <Row>(sql: string, parameters: unknown[] = []): Promise<Row[]> =>
      onServer<Row>(variables.DATABASE_URL as string, sql, parameters);
    const ids = await query<{ id: string; silent: boolean }>(
      `SELECT id, audio_deleted_at IS NOT NULL AS silent FROM recordings WHERE account_id = ANY ($1) ORDER BY created_at`,
      [[client.accountId, closed.accountId]],
    );
    expect(ids).toEqual([
      { id: kept, silent: false },
      { id: silent, silent: true },
    ]);
    expect(await query('SELECT 1 FROM accounts WHERE id = $1', [closed.accountId])).toEqual([]);
    const objects = await readdir(join(variables.STORAGE_DIR as string, 'objects'), { recursive: true });
    for (const id of [gone, silent, ofUser, inClosed])
      expect(objects.filter((name) => name.includes(id as string))).toEqual([]);
    expect(objects.filter((name) => name.includes(kept as string))).toHaveLength(1);

    // The reconciler of the restored service does the rest of it.
    const again = await startService(environment, { ...variables, ROLES: 'api,deliverer' });
    await second.at(again.url).get('/v1/recordings').expect(401);
    await client.at(again.url).get(`/v1/webhooks/${hook.id}`).expect(404);
    await eventually(async () => (await again.database.query('SELECT 1 FROM user_erasures')).length === 0);
    const named = await again.database.query(
      `SELECT 1 FROM events WHERE body LIKE '%ada@example.com%' OR user_id IS NOT NULL`,
    );
    expect(named).toEqual([]);
    const { code } = await run({ variables }, 'counters:verify', '--account', client.accountId, '--json');
    expect(code).toBe(0);
    await again.close();
  }, 120_000);

  it('is written by a deliverer itself, within a round of its reconciler', async () => {
    const place = await folder();
    const writer = await startService(environment, { ROLES: 'api,deliverer', BACKUP_DESTINATION: place });
    const client = (await service.account()).at(writer.url);
    const [id] = await someNotes(client, 1);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    const unwritten = 'SELECT 1 FROM erasures WHERE NOT is_written';
    await eventually(async () => (await service.database.query(unwritten)).length === 0);
    expect((await readdir(join(place, 'erasures'))).length).toBeGreaterThan(0);
    const { text } = await client.get('/metrics').expect(200);
    expect(text).toMatch(/^backup_unwritten_erasure_seconds 0$/m);
    await backup(place);
    await eventually(async () =>
      /^backup_last_success_timestamp_seconds 1\d{9}/m.test((await client.get('/metrics')).text),
    );
    await writer.close();
  }, 120_000);
});

class Later1999999999999 implements MigrationInterface {
  name = 'Later1999999999999';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE later (id integer PRIMARY KEY)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE later');
  }
}

describe('a restore', () => {
  it('is refused with a sentence', async () => {
    const place = await folder();
    const nowhere = await run(environment, 'backup');
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('Set BACKUP_DESTINATION') });
    const absent = await run(environment, 'backup', '--place', join(place, 'absent'));
    expect(absent).toMatchObject({ code: 1, stderr: expect.stringContaining('Create it, or mount the disk') });
    await someNotes(await service.account(), 1);
    await backup(place);
    const said = async (variables: Variables): Promise<string> => {
      const { code, stderr } = await run({ variables }, 'restore', '--place', place);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await said(environment.variables)).toContain('The database has accounts');
    const other = { ...(await restored()), SECRET_KEY: 'another secret key of at least 32 characters, for tests' };
    expect(await said(other)).toContain('made under another SECRET_KEY');
    const unknown = await run({ variables: other }, 'restore', '--place', place, '--backup', '20200101-000000-abcdef');
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('has no complete backup 20200101') });
  }, 120_000);

  it('of an older release migrates afterwards; of a newer one it is refused', async () => {
    const place = await folder();
    await backup(place);
    const newer = () => runAdmin([{ name: 'later', migrations: [Later1999999999999] } as never]);
    const variables = await restored();
    const { code, stdout, stderr } = await runHere(newer, variables, ['restore', '--place', place, '--json']);
    expect({ code, stderr: stderr.replaceAll(/^table .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ migrated: ['Later1999999999999'] });
    const url = variables.DATABASE_URL as string;
    expect(await onServer(url, 'SELECT id FROM later')).toEqual([]);
    expect((await onServer(url, 'SELECT id FROM accounts')).length).toBeGreaterThan(0);

    const ofNewer = await folder();
    const made = await runHere(newer, variables, ['backup', '--place', ofNewer, '--allow-missing', '--json']);
    expect(made.code).toBe(0);
    const refused = await run({ variables: await restored() }, 'restore', '--place', ofNewer);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('is of a newer release') });
  }, 120_000);
});
