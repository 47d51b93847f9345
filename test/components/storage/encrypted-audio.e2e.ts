import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readEnv } from '../../../src/platform/config/env.js';
import { LiveRecordingsService } from '../../../src/modules/live/live-recordings.service.js';
import { ObjectNotFoundError } from '../../../src/platform/storage/file-system.js';
import { ObjectStore } from '../../../src/platform/storage/object-store.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech } from '../../../src/testing/speech.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { silenceWav, wav } from '../../support/audio/audio-bytes.js';
import { fetchBinary } from '../../support/http/clients/audio-client.js';
import { expectError } from '../../support/http/expect-errors.js';
import { appendParts, BEGUN, principalOf } from '../../support/live/live-session.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { LinkSource } from '../../support/servers/link-source.js';
import { commandRunner } from '../../support/service/cli.js';
import { archiveOf, exportAccount } from '../../support/state/account-export.js';

const MARKER = 'what somebody said in confidence ';
/** More than three chunks. */
const NOTE = wav({ data: Buffer.from(MARKER.repeat(6500)) });
const CHUNK = 65_536;
const ON = { STORAGE_ENCRYPTION: 'key', STORAGE_KEY: 'a key for audio of at least 32 characters' };
const OTHER_KEY = 'another key for audio of at least 32 characters';

/** What lies in storage, as it is. */
interface Stored {
  read(key: string): Promise<Buffer>;
  write(key: string, bytes: Buffer): Promise<void>;
  keys(): Promise<string[]>;
}

const onDisk = (folder: string): Stored => ({
  read: (key) => readFile(join(folder, key)),
  async write(key, bytes) {
    await mkdir(dirname(join(folder, key)), { recursive: true });
    await writeFile(join(folder, key), bytes);
  },
  async keys() {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  },
});

const inS3 = ({ objects }: FakeS3): Stored => ({
  read: async (key) => objects.get(key) as Buffer,
  write: async (key, bytes) => void objects.set(key, bytes),
  keys: async () => [...objects.keys()],
});

describe.each(['disk', 's3'] as const)('encrypted audio on %s', (driver) => {
  const run = commandRunner();
  const environment = useEnvironment();
  let onStore: Record<string, string> = {};
  let stored: Stored;
  let client: ApiClient;

  beforeAll(async () => {
    stored = onDisk(join(environment.variables.STORAGE_DIR as string, 'objects'));
    if (driver === 'disk') return;
    const s3 = await FakeS3.start();
    environment.defer(() => s3.stop());
    stored = inS3(s3);
    const credentials = { S3_ACCESS_KEY_ID: 'test-key-id', S3_SECRET_ACCESS_KEY: 'test-secret-key' };
    onStore = { STORAGE_DRIVER: 's3', S3_ENDPOINT: s3.url, S3_BUCKET: s3.bucket, ...credentials };
  });
  const service = useService(() => ({ ...onStore, ...ON, ROLES: 'api' }), { environment });
  beforeEach(async () => {
    client = await service.account();
  });

  const serve = (variables: Record<string, string>): Promise<TestService> =>
    startService(environment, { ...onStore, ...variables });
  const download = (id: string, by = client, headers: Record<string, string> = {}) =>
    fetchBinary(by, `/v1/recordings/${id}/audio`, headers);

  async function uploaded(audio = NOTE, by = client, name = 'note.wav'): Promise<{ id: string; key: string }> {
    const { body } = await by.upload(audio, {}, name).expect(201);
    return { id: body.id, key: body.s3_key };
  }

  async function keysOf({ accountId } = client): Promise<{ version: number; wrapped_key: string }[]> {
    return await service.database.query('SELECT version, wrapped_key FROM storage_keys WHERE account_id = $1', [
      accountId,
    ]);
  }

  /** Downloads whole, and at the borders of chunks. */
  async function expectSame(id: string, by = client, audio = NOTE): Promise<void> {
    const whole = await download(id, by);
    expect([whole.status, whole.headers['content-length']]).toEqual([200, `${audio.length}`]);
    expect(whole.bytes.equals(audio)).toBe(true);
    const borders = [0, CHUNK, 2 * CHUNK, audio.length - 1];
    for (const [from, to] of borders.flatMap((at, i) => borders.slice(i).map((end) => [at, end] as const))) {
      const start = Math.max(0, from - 1);
      const part = await download(id, by, { Range: `bytes=${start}-${to}` });
      expect([part.status, part.headers['content-range']]).toEqual([206, `bytes ${start}-${to}/${audio.length}`]);
      expect(part.bytes.equals(audio.subarray(start, to + 1))).toBe(true);
    }
  }

  it('stores nothing in clear, and gives back the very bytes, whole and in ranges', async () => {
    const { id, key } = await uploaded();
    expect(key).toMatch(new RegExp(`^${client.accountId}/k1/\\d{4}/\\d\\d/${id}\\.wav$`));
    const bytes = await stored.read(key);
    expect(bytes.length).toBe(59 + NOTE.length + 16 * Math.ceil(NOTE.length / CHUNK));
    expect([bytes.includes(MARKER.slice(0, 8)), bytes.includes('RIFF')]).toEqual([false, false]);
    await expectSame(id);
    expect((await client.get(`/v1/recordings/${id}`).expect(200)).body.file_size_bytes).toBe(NOTE.length);
    expect((await keysOf()).map(({ version }) => version)).toEqual([1]);
  });

  it('takes the largest upload, and gives each account a key of its own', async () => {
    const large = wav({ data: randomBytes(26_214_400 - 44) });
    const { id } = await uploaded(large);
    const { bytes } = await download(id);
    expect(sha256(bytes)).toBe(sha256(large));
    const other = await service.account();
    await Promise.all([1, 2, 3].map(() => uploaded(silenceWav(0.1), other)));
    const [mine, theirs] = [await keysOf(), await keysOf(other)];
    expect([mine.length, theirs.length]).toEqual([1, 1]);
    expect(mine[0]?.wrapped_key).not.toBe(theirs[0]?.wrapped_key);
  });

  it('answers 404 for audio that was changed or exchanged in storage, and gives none of it', async () => {
    const [mine, other] = [await uploaded(), await uploaded()];
    const whole = await stored.read(mine.key);
    const changed = Buffer.from(whole);
    changed.writeUInt8(changed.readUInt8(100) ^ 1, 100);
    for (const bytes of [changed, NOTE, await stored.read(other.key)]) {
      await stored.write(mine.key, bytes);
      expectError(await download(mine.id), 'NotFoundError');
    }
    await stored.write(mine.key, whole);
    await expectSame(mine.id);
  });

  it('reads both kinds side by side, switched on or off', async () => {
    const off = await serve({ ROLES: 'api', STORAGE_KEY: ON.STORAGE_KEY });
    const [secret, plain] = [await uploaded(), await uploaded(NOTE, client.at(off.url))];
    expect(plain.key).toMatch(/^[^/]+\/\d{4}\/\d\d\//);
    expect((await stored.read(plain.key)).equals(NOTE)).toBe(true);
    for (const by of [client, client.at(off.url)]) {
      await expectSame(secret.id, by);
      await expectSame(plain.id, by);
    }
    await off.close();
  });

  it('is transcribed, also by a process without SECRET_KEY; one without the key of audio waits', async () => {
    const { id } = await uploaded(await speech('go-forward-ten-meters.ogg'), client, 'note.ogg');
    const lacking = await serve({ ROLES: 'transcriber', SECRET_KEY: '', STORAGE_KEY: OTHER_KEY });
    const attempts = async () => {
      const [row] = await service.database.query<{ attempt: number; faults: number; status: string; runs: string }>(
        'SELECT attempt, faults, status, lease_until FROM recordings WHERE id = $1',
        [id],
      );
      return row;
    };
    await eventually(async () => {
      const [row] = await service.database.query('SELECT 1 FROM recordings WHERE id = $1 AND lease_until > now()', [
        id,
      ]);
      return row !== undefined;
    });
    await lacking.close();
    expect(await attempts()).toMatchObject({ attempt: 0, faults: 0, status: 'processing' });
    expectError(
      await download(id, client.at((await serve({ ROLES: 'api', STORAGE_KEY: OTHER_KEY })).url)),
      'ServiceUnavailableError',
    );
    await serve({ ROLES: 'transcriber', SECRET_KEY: '', ...ON });
    expect((await client.finished(id)).status).toBe('transcribed');
    const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
    expect(body.text).toMatch(/go forward ten meters/i);
  });

  it('encrypts what is fetched from a link and what was recorded live', async () => {
    const source = await LinkSource.listen();
    const url = source.serve('/note.wav', (_, response) => void response.end(NOTE));
    const linked = await client.post('/v1/recordings', { url }).expect(201);
    const live = service.app.get(LiveRecordingsService);
    const { recordingId } = await live.begin(principalOf(client.accountId), BEGUN);
    const said = await appendParts(live, { recordingId }, 10);
    await live.end(recordingId, 'finished');
    // Its file waits for the words, and no transcriber is there.
    await service.database.query('UPDATE live_recordings SET words_ended_at = now() WHERE recording_id = $1', [
      recordingId,
    ]);
    const deliverer = await serve({ ROLES: 'deliverer', ...ON });
    const isStored = async (id: string) =>
      (await client.get(`/v1/recordings/${id}`).expect(200)).body.file_size_bytes > 0;
    for (const id of [linked.body.id as string, recordingId]) {
      await eventually(() => isStored(id));
      const { object_key: key } = await row(id);
      expect(key).toMatch(new RegExp(`^${client.accountId}/k1/`));
      const bytes = await stored.read(key);
      for (const text of [MARKER.slice(0, 8), 'RIFF', 'fLaC']) expect(bytes.includes(text)).toBe(false);
    }
    await expectSame(linked.body.id as string);
    const { bytes } = await download(recordingId);
    expect([bytes.subarray(0, 4).toString(), bytes.subarray(-said.length).equals(said)]).toEqual(['RIFF', true]);
    await deliverer.close();
    await source.close();
  });

  it('a process that only transcribes does not encrypt without STORAGE_KEY', () => {
    const variables = { ...environment.variables, ROLES: 'transcriber', STORAGE_ENCRYPTION: 'key' };
    expect(() => readEnv(variables)).toThrow(
      'STORAGE_KEY is required in a process that only transcribes, as it has no SECRET_KEY',
    );
    expect(readEnv({ ...variables, ROLES: 'worker' }).storageKey).toBeNull();
  });

  it('exports plain audio in encrypted parts, which an import encrypts anew', async () => {
    const { id } = await uploaded();
    await exportAccount(client);
    const archive = await archiveOf(client);
    expect(archive.includes(NOTE)).toBe(true);
    const parts = (await stored.keys()).filter((key) => key.includes(`${client.accountId}/k1/exports/`));
    expect(parts).toHaveLength(1);
    expect((await stored.read(parts[0] as string)).includes(MARKER.slice(0, 8))).toBe(false);
    expect(await archiveOf(client, { Range: 'bytes=70000-200000' })).toEqual(archive.subarray(70_000, 200_001));

    const [before] = await keysOf();
    const sealed = await stored.read((await row(id)).object_key);
    await purge();
    expect(await keysOf()).toEqual([]);
    const folder = await mkdtemp(join(tmpdir(), 'encrypted-import-'));
    environment.defer(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'archive.tar'), archive);
    await command('account:import', '--file', join(folder, 'archive.tar'));
    await expectSame(id);
    const { object_key: key } = await row(id);
    expect(key).toMatch(new RegExp(`^${client.accountId}/k\\d{2,}/`));
    const again = await stored.read(key);
    expect([again.includes(MARKER.slice(0, 8)), again.equals(sealed)]).toEqual([false, false]);
    expect((await keysOf())[0]?.wrapped_key).not.toBe(before?.wrapped_key);
    // A copy from before is not the audio of this account any more.
    await stored.write(key, sealed);
    const fresh = await serve({ ROLES: 'api', ...ON });
    expectError(await download(id, client.at(fresh.url)), 'NotFoundError');
    await fresh.close();
  });

  it('cannot be read any more when the account is closed, by any copy', async () => {
    const { key } = await uploaded();
    const copy = await stored.read(key);
    const [{ wrapped_key: wrapped } = { wrapped_key: '' }] = await keysOf();
    await purge();
    await stored.write(key, copy);
    const later = await serve({ ROLES: 'api', ...ON });
    await expect(later.app.get(ObjectStore).read(key)).rejects.toThrow(ObjectNotFoundError);
    await later.close();
    expect(await tablesWith(wrapped.slice(0, 40))).toEqual([]);
    await service.app.get(ObjectStore).remove(key);
  });

  const row = async (id: string): Promise<{ object_key: string }> => {
    const [found] = await service.database.query<{ object_key: string }>(
      'SELECT object_key FROM recordings WHERE id = $1',
      [id],
    );
    return found as { object_key: string };
  };

  async function command(...args: string[]): Promise<Record<string, unknown>> {
    const variables = { ...environment.variables, ...onStore, ...ON };
    const { code, stdout, stderr } = await run({ variables }, ...args, '--json');
    expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  const purge = () => command('account:purge', '--account', client.accountId, '--yes');

  /** Names of the tables that have the text in any row. */
  async function tablesWith(text: string): Promise<string[]> {
    const tables = await service.database.query<{ name: string }>(
      `SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
    );
    const found: string[] = [];
    for (const { name } of tables) {
      const rows = await service.database.query(`SELECT 1 FROM ${name} t WHERE t::text LIKE $1 LIMIT 1`, [`%${text}%`]);
      if (rows.length > 0) found.push(name);
    }
    expect(tables.length).toBeGreaterThan(30);
    return found;
  }
});

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
