import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { wav } from '../../support/audio/audio-bytes.js';
import { fetchBinary } from '../../support/http/clients/audio-client.js';
import { ROOT } from '../../support/paths.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { commandRunner, runCli } from '../../support/service/cli.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { emptyInstallation, newFolder } from '../../support/state/empty-installation.js';
import { archiveOf, exportAccount } from '../../support/state/account-export.js';

type Variables = Record<string, string>;

interface Note {
  id: string;
  audio: Buffer;
  client: ApiClient;
  isDeleted?: true;
}

interface Report {
  recordings: { moved: number; left: number; without_audio: number };
  keys: { made: number; removed: number; waiting: number };
  accounts: { done: number; in_another_process: number };
  recordings_without_audio: string[];
  advice: string;
}

const ON = { STORAGE_ENCRYPTION: 'key', STORAGE_KEY: 'a key for audio of at least 32 characters' };
const OFF = { STORAGE_KEY: ON.STORAGE_KEY };
/** Of the two accounts together. */
const NOTES = 300;
const FASTEST = ['--rate', '100000'];

describe.each(['disk', 's3'] as const)('storage:encrypt on %s', (driver) => {
  const run = commandRunner();
  const environment = useEnvironment();
  let onStore: Variables = {};
  let storedKeys: () => Promise<string[]>;
  let plain: TestService;
  let clients: ApiClient[];
  const notes: Note[] = [];
  let place: string;
  let backedUp: Note[];

  beforeAll(async () => {
    storedKeys = async () => {
      const folder = join(environment.variables.STORAGE_DIR as string, 'objects');
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile());
      return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
    };
    if (driver === 'disk') return;
    const s3 = await FakeS3.start();
    environment.defer(() => s3.stop());
    storedKeys = async () => [...s3.objects.keys()];
    const credentials = { S3_ACCESS_KEY_ID: 'test-key-id', S3_SECRET_ACCESS_KEY: 'test-secret-key' };
    onStore = { STORAGE_DRIVER: 's3', S3_ENDPOINT: s3.url, S3_BUCKET: s3.bucket, ...credentials };
  });
  const service = useService(() => ({ ...onStore, ...ON, ROLES: 'api,deliverer' }), { environment });

  const variablesOf = (others: Variables = ON): Variables => ({ ...environment.variables, ...onStore, ...others });

  async function command(args: string[], variables = variablesOf(), expected = 0): Promise<Report> {
    const { code, stdout, stderr } = await run({ variables }, 'storage:encrypt', ...FASTEST, '--json', ...args);
    expect({ code, stderr: code === expected ? '' : stderr }).toEqual({ code: expected, stderr: '' });
    return JSON.parse(stdout) as Report;
  }

  /** Each with other bytes, of up to three chunks. */
  async function upload(client: ApiClient): Promise<Note> {
    const text = `what note ${notes.length} of somebody says in confidence `;
    const audio = wav({ data: Buffer.from(text.repeat(20 + (notes.length % 50) * 80)) });
    const { body } = await client.upload(audio, {}, 'note.wav').expect(201);
    const note: Note = { id: body.id, audio, client };
    notes.push(note);
    return note;
  }

  async function expectAudio({ id, audio, client }: Note, by = client): Promise<void> {
    const { status, bytes } = await fetchBinary(by, `/v1/recordings/${id}/audio`);
    expect([status, bytes.equals(audio)]).toEqual([200, true]);
  }

  const present = (): Note[] => notes.filter(({ isDeleted }) => !isDeleted);

  async function expectAllAudio(): Promise<void> {
    for (const note of present()) await expectAudio(note);
  }

  async function keys(): Promise<string[]> {
    const rows = await service.database.query<{ key: string }>('SELECT object_key AS key FROM recordings');
    return rows.map(({ key }) => key);
  }

  /** What was replaced, and what killed processes have left, is removed as if its hour were over; nothing else is. */
  async function expectNothingLeft(): Promise<void> {
    await service.database.query('UPDATE object_removals SET remove_after = now()');
    await eventually(async () => (await service.database.query('SELECT 1 FROM object_removals')).length === 0);
    expect((await storedKeys()).toSorted()).toEqual((await keys()).toSorted());
  }

  const versionsOf = async ({ accountId }: ApiClient): Promise<number[]> => {
    const rows = await service.database.query<{ version: number }>(
      'SELECT version FROM storage_keys WHERE account_id = $1 ORDER BY 1',
      [accountId],
    );
    return rows.map(({ version }) => version);
  };

  /** How many sessions wait for a lock with a statement that has this text. */
  async function waitingFor(text: string): Promise<number> {
    const rows = await service.database.query(
      `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()
         AND strpos(query, $1) > 0 AND pid <> pg_backend_pid()`,
      [text],
    );
    return rows.length;
  }

  /** Reads, uploads and deletes until it is ended. Every answer must be what it should. */
  function load(): { end(): Promise<{ reads: number; uploads: number; deletes: number }> } {
    const done = { reads: 0, uploads: 0, deletes: 0 };
    let isEnding = false;
    const read = async (step: number): Promise<void> => {
      for (let i = step; !isEnding; i += 7, done.reads++) {
        const all = present();
        const note = all[i % all.length] as Note;
        const { status, bytes } = await fetchBinary(note.client, `/v1/recordings/${note.id}/audio`);
        // One that is deleted while it is asked for may be gone.
        if (note.isDeleted) continue;
        expect([note.id, status, bytes.equals(note.audio)]).toEqual([note.id, 200, true]);
      }
    };
    const change = async (): Promise<void> => {
      for (let i = 0; !isEnding; i++) {
        await upload(clients[i % 2] as ApiClient);
        done.uploads++;
        const all = present();
        const note = all[(i * 13) % all.length] as Note;
        note.isDeleted = true;
        await note.client.delete(`/v1/recordings/${note.id}`).expect(204);
        done.deletes++;
        await delay(50);
      }
    };
    const running = Promise.all([read(0), read(3), change()]);
    running.catch(() => undefined);
    return {
      end: async () => {
        isEnding = true;
        await running;
        return done;
      },
    };
  }

  function begin(...args: string[]): ChildProcess {
    const env = { PATH: process.env.PATH, ...variablesOf() };
    return spawn(process.execPath, ['dist/commands/cli.js', 'storage:encrypt', ...args], {
      cwd: ROOT,
      env,
      stdio: 'ignore',
    });
  }

  it('stores plain audio encrypted, by processes that are killed, while others read, upload and delete', async () => {
    plain = await startService(environment, { ...onStore, ...OFF, ROLES: 'api' });
    clients = [await service.account('enterprise'), await service.account('enterprise')];
    // All audio is read several times, which a quick machine does within a minute.
    await service.database.query('UPDATE accounts SET rate_limit = 100000, burst_limit = 100000');
    for (let i = 0; i < NOTES; i++) await upload((clients[i % 2] as ApiClient).at(plain.url));
    for (const note of notes) note.client = note.client.at(service.url);
    const working = load();
    let kills = 0;
    for (; kills < 4; kills++) {
      const children = [begin('--rate', '1'), begin('--rate', '1')];
      await delay(1800 + kills * 150);
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map((child) => closed(child)));
    }
    const before = (await keys()).filter((key) => key.includes('/k1/')).length;
    const rest = await command([]).catch(async (error: unknown) => {
      await working.end();
      throw error;
    });
    const done = await working.end();
    reportMeasurement(
      `storage:encrypt on ${driver}: ${NOTES} plain notes, 2 processes killed ${kills} times (${before} of the keys encrypted then), ` +
        `${rest.recordings.moved} by the last; meanwhile ${done.reads} reads, ${done.uploads} uploads, ${done.deletes} deletes, 0 failed`,
    );
    expect(before).toBeGreaterThan(0);
    expect(rest.recordings).toMatchObject({ left: 0, without_audio: 0 });
    expect(rest.recordings.moved).toBeGreaterThan(0);
    for (const key of await keys()) expect(key).toMatch(/^[\w-]+\/k1\//);
    await expectAllAudio();
    await expectNothingLeft();
    await expectAllAudio();
    expect(await command([])).toMatchObject({
      recordings: { moved: 0, left: 0 },
      advice: 'All audio is stored as new audio is.',
    });
    await plain.close();
  }, 120_000);

  it('gives an account a new key, and removes the earlier one when nothing uses it', async () => {
    const [client, other] = clients as [ApiClient, ApiClient];
    await exportAccount(client);
    const of = ['--account', client.accountId];
    const working = load();
    const [made] = await Promise.allSettled([command([...of, '--new-key'])]);
    await working.end();
    if (made.status === 'rejected') throw made.reason;
    const first = made.value;
    expect(first.keys).toEqual({ made: 1, removed: 0, waiting: 1 });
    expect(first.recordings.left).toBe(0);
    expect(first.advice).toMatch(/Earlier keys are still in use/);
    expect([await versionsOf(client), await versionsOf(other)]).toEqual([[1, 2], [1]]);
    const mine = (await keys()).filter((key) => key.startsWith(client.accountId));
    expect(mine.every((key) => key.includes('/k2/') || key.includes('/exports/'))).toBe(true);
    await expectAllAudio();

    const age = () =>
      service.database.query(`UPDATE storage_keys SET created_at = now() - interval '3 hours' WHERE account_id = $1`, [
        client.accountId,
      ]);
    await age();
    // What was replaced waits for its removal, and the parts of the export are under it.
    expect((await command(of)).keys).toEqual({ made: 0, removed: 0, waiting: 1 });
    await service.database.query('UPDATE object_removals SET remove_after = now()');
    await eventually(async () => (await service.database.query('SELECT 1 FROM object_removals')).length === 0);
    expect((await command(of)).keys).toEqual({ made: 0, removed: 0, waiting: 1 });
    await service.database.query('DELETE FROM account_exports');
    expect((await command(of)).keys).toEqual({ made: 0, removed: 1, waiting: 0 });
    expect(await versionsOf(client)).toEqual([2]);
    const later = await startService(environment, { ...onStore, ...ON, ROLES: 'api' });
    for (const note of present()) await expectAudio(note, note.client.at(later.url));
    await later.close();
    await expectNothingLeft();
  }, 60_000);

  it('an export that takes longer than what was replaced is kept has all audio', async () => {
    const client = await service.account('enterprise');
    // More than the part of an archive after which it waits here.
    const audio = [1, 2, 3].map(() => wav({ data: randomBytes(8_000_000) }));
    const ids: string[] = [];
    for (const bytes of audio) ids.push((await client.upload(bytes, {}, 'long.wav').expect(201)).body.id);
    const of = ['--account', client.accountId];
    let exported: Promise<unknown> | undefined;
    await service.database.transact(async (tx) => {
      await client.post('/v1/account/export').expect(202);
      await tx.query('SELECT 1 FROM account_exports WHERE account_id = $1 FOR UPDATE', [client.accountId]);
      await eventually(async () => (await waitingFor('UPDATE account_exports SET parts')) > 0);
      expect((await command([...of, '--new-key'])).recordings).toMatchObject({ moved: 3, left: 0 });
      await service.database.query('UPDATE object_removals SET remove_after = now()');
      await eventually(async () => (await storedKeys()).every((key) => !key.startsWith(`${client.accountId}/k1/2`)));
      exported = eventually(async () => (await client.get('/v1/account/export')).body.status === 'ready');
      exported.catch(() => undefined);
    });
    await exported;
    const archive = await archiveOf(client);
    expect(audio.map((bytes) => archive.includes(bytes))).toEqual([true, true, true]);
    for (const id of ids) await client.delete(`/v1/recordings/${id}`).expect(204);
  }, 60_000);

  it('an account can be removed before the hour of what was replaced is over', async () => {
    const client = await service.account();
    for (let i = 0; i < 3; i++) await upload(client);
    const mine = notes.splice(-3);
    await command(['--account', client.accountId, '--new-key']);
    const removed = await runCli(
      { variables: variablesOf() },
      'account:purge',
      '--account',
      client.accountId,
      '--yes',
      '--json',
    );
    expect(JSON.parse(removed.stdout)).toMatchObject({
      removed: { recordings: 3, objects: 6 },
      advice: 'Nothing is left.',
    });
    expect((await storedKeys()).filter((key) => key.startsWith(client.accountId))).toEqual([]);
    await mine[0]?.client.get('/v1/account').expect(401);
  });

  it('names recordings without audio, goes on, and exits with 2', async () => {
    const [client] = clients as [ApiClient];
    const note = await upload(client);
    await service.database.query(
      `UPDATE recordings SET object_key = replace(object_key, '.wav', '-9.wav') WHERE id = $1`,
      [note.id],
    );
    const report = await command(['--account', client.accountId, '--new-key'], variablesOf(), 2);
    expect(report).toMatchObject({ recordings: { left: 0, without_audio: 1 }, recordings_without_audio: [note.id] });
    expect(report.recordings.moved).toBeGreaterThan(5);
    await service.database.query(
      `UPDATE recordings SET object_key = replace(object_key, '-9.wav', '.wav') WHERE id = $1`,
      [note.id],
    );
    await expectAllAudio();
  });

  it('waits for a backup, which finds all that its snapshot names', async () => {
    place = await newFolder(environment, 'backup-keys');
    const backup = await runCli({ variables: variablesOf() }, 'backup', '--place', place, '--json');
    expect([backup.code, JSON.parse(backup.stdout).missing]).toEqual([0, 0]);
    const before = await keys();
    backedUp = present();
    let command_: Promise<Report> | undefined;
    await service.database.transact(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(7305122)');
      command_ = command(['--new-key']);
      await delay(3000);
      expect(await keys()).toEqual(before);
    });
    expect((await command_)?.recordings.left).toBe(0);
    await expectNothingLeft();
    await expectAllAudio();
  }, 60_000);

  it('stores all of it plain again when STORAGE_ENCRYPTION is off, and only if that is said', async () => {
    const refused = await run({ variables: variablesOf(OFF) }, 'storage:encrypt');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/or add --decrypt to store all audio plain/),
    ]);
    const also = await run({ variables: variablesOf() }, 'storage:encrypt', '--decrypt');
    expect([also.code, also.stderr]).toEqual([1, expect.stringMatching(/leave out --decrypt/)]);
    await exportAccount(clients[0] as ApiClient);
    const { recordings, advice } = await command(['--decrypt'], variablesOf(OFF));
    expect(advice).toMatch(/Keep STORAGE_KEY, .* for the backups of before, and for \d encrypted exports/);
    expect(recordings).toMatchObject({ left: 0, without_audio: 0 });
    expect(recordings.moved).toBe(present().length);
    for (const key of await keys()) expect(key).toMatch(/^[\w-]+\/\d{4}\/\d\d\/[\w-]+-m[\da-f]{8}\.wav$/);
    await expectAllAudio();
    await expectNothingLeft();
    await expectAllAudio();
  }, 60_000);

  it('then another key can take the place of one that was thrown away, for accounts without audio, too', async () => {
    const other = { ...ON, STORAGE_KEY: 'another key for audio of 32 characters or more' };
    const client = await service.account('enterprise');
    const audio = wav({ data: Buffer.alloc(3200) });
    const { body } = await client.upload(audio, {}, 'note.wav').expect(201);
    await client.delete(`/v1/recordings/${body.id}`).expect(204);
    const later = await startService(environment, { ...onStore, ...other, ROLES: 'api' });
    const again = () => client.at(later.url).upload(audio, {}, 'note.wav');
    await again().expect(503);
    const { keys: made } = await command(['--new-key', '--account', client.accountId], variablesOf(other));
    expect(made).toEqual({ made: 1, removed: 0, waiting: 1 });
    const { body: stored } = await again().expect(201);
    expect(stored.s3_key).toContain('/k2/');
    await later.close();
  }, 60_000);

  // The last, as the restored database has other versions of credentials in the same Redis.
  it('a backup of before can be restored afterwards', async () => {
    const installation = await emptyInstallation(environment);
    const variables = { ...environment.variables, ...ON, ...installation };
    const restored = await runCli({ variables }, 'restore', '--place', place, '--json');
    expect([restored.code, restored.code === 0 ? '' : restored.stderr]).toEqual([0, '']);
    expect(JSON.parse(restored.stdout)).toMatchObject({ unreadable_audio_keys: 0 });
    const withoutKey = { ...environment.variables, ...(await emptyInstallation(environment)) };
    const { stdout } = await runCli({ variables: withoutKey }, 'restore', '--place', place, '--json');
    const { unreadable_audio_keys: unreadable, advice } = JSON.parse(stdout);
    expect(unreadable).toBeGreaterThanOrEqual(2);
    expect(advice).toContain(`nothing here can unwrap ${unreadable} keys of audio`);
    const again = await startService(environment, { ...ON, ...installation, ROLES: 'api' });
    for (const note of backedUp) await expectAudio(note, note.client.at(again.url));
    await again.close();
  }, 60_000);
});

async function closed(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
}
