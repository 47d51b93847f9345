import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { paddingOf, readTarHeader, TAR_END, tarHeader } from '../../../src/modules/archives/tar.js';
import { ApiClient } from '../../../src/testing/api-client.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import { call, createResources, type Ids, NAMED_OPERATIONS } from '../../support/http/operations.js';
import { signIn } from '../../support/http/session-client.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { commandRunner } from '../../support/service/cli.js';
import { archiveOf, collect, exportAccount } from '../../support/state/account-export.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const run = commandRunner();
const source = useService({ ROLES: 'api' });
/** Another installation, with the SECRET_KEY of the first. */
const target = useService({ ROLES: 'api' });

let folder: string;
let client: ApiClient;
let ids: Ids;
/** Recordings in all states, and one of an end user. */
let recordings: string[];
let archive: Buffer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'voice-notes-import-'));
  client = await source.account();
  ids = await createResources(source, client, { needs: 'corrected' });
  const test = await client.post('/v1/account/api-keys', { name: 'Test', mode: 'test' }).expect(201);
  const testKey = { id: test.body.id, key: test.body.api_key, secret: test.body.api_secret };
  await signIn(source, client.accountId, { email: 'ada@example.com', name: 'Ada Byron' });
  const failed = await upload(client, { custom_tags: '{"ticket":"T-1042"}' });
  await source.database.query(`UPDATE recordings SET user_id = 'user-1' WHERE id = $1`, [failed]);
  await fail(source, failed);
  const transcribed = await upload(client);
  await transcribe(source, transcribed);
  await client.patch(`/v1/recordings/${transcribed}`, { title: 'Call with the north gate' }).expect(200);
  await client.put(`/v1/recordings/${transcribed}/hold`, { reason: 'Complaint C-1042' }).expect(200);
  const waiting = (await client.upload(silenceWav(0.5)).set('Idempotency-Key', 'one').expect(201)).body.id as string;
  const deleted = await upload(client);
  await client.delete(`/v1/recordings/${deleted}`).expect(204);
  await client.put('/v1/account/vocabulary', { vocabulary: ['Grafana', 'Zoë'] }).expect(200);
  await client.put('/v1/account/retention', { retain_audio_days: 30, retain_text_days: 365, delete_audio_after: null });
  await upload(new ApiClient(source.url, client.accountId, testKey));
  recordings = [ids.recording_id, failed, transcribed, waiting];
  await exportAccount(client);
  archive = await archiveOf(client);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const importFile = async (bytes: Buffer, to: Pick<TestService, 'environment'> = target, variables = {}) => {
  const file = join(folder, 'archive.tar');
  await writeFile(file, bytes);
  const environment = { variables: { ...to.environment.variables, ...variables } };
  const said = await run(environment, 'account:import', '--file', file, '--json');
  return { ...said, result: said.stdout ? JSON.parse(said.stdout) : null };
};

interface Member {
  name: string;
  content: Buffer;
}

function unpack(bytes: Buffer): Member[] {
  const members: Member[] = [];
  for (let at = 0; ;) {
    const header = readTarHeader(bytes.subarray(at, at + 512));
    if (!header) return members;
    const start = at + 512;
    members.push({ name: header.name, content: bytes.subarray(start, start + header.size) });
    at = start + header.size + paddingOf(header.size).length;
  }
}

/** With right checksums. */
function pack(members: readonly Member[]): Buffer {
  const kept = members.filter(({ name }) => !name.startsWith('SHA256SUMS'));
  const sums = kept.map(({ name, content }) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  const all = [...kept, { name: 'SHA256SUMS-000001', content: Buffer.from(sums.join('')) }];
  const packed = all.flatMap(({ name, content }) => [
    tarHeader({ name, size: content.length }, new Date(0)),
    content,
    paddingOf(content.length),
  ]);
  return Buffer.concat([...packed, TAR_END]);
}

type Change = (content: string) => string;

/** The archive with another content of one member, and right checksums. */
const changed = (member: string, change: Change): Buffer =>
  pack(
    unpack(archive).map(({ name, content }) => ({
      name,
      content: name === member ? Buffer.from(change(content.toString())) : content,
    })),
  );

const rowsOf = (table: string): string => `tables/${table}/000001.jsonl`;
const withField =
  (field: string, value: unknown): Change =>
  (content) => {
    const [first, ...others] = content.split('\n');
    return [JSON.stringify({ ...(JSON.parse(first as string) as object), [field]: value }), ...others].join('\n');
  };

/** What any table of the installation has of the account, but removals that will come. */
async function nothingOf(accountId: string): Promise<void> {
  for (const table of ['accounts', 'recordings', 'api_keys', 'events', 'audit_entries', 'people']) {
    const rows = await target.database.query(`SELECT 1 FROM ${table} t WHERE t::text LIKE $1`, [`%${accountId}%`]);
    expect([table, rows.length]).toEqual([table, 0]);
  }
}

describe('account:import', () => {
  const other = '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d';

  it('refuses what is no whole archive of one account, and leaves nothing', async () => {
    const key = `${other}/2026/11/${other}.wav`;
    const traversal = '../../../etc/passwd';
    const manifest = (change: (manifest: Record<string, unknown>) => void) =>
      changed('manifest.json', (content) => {
        const parsed = JSON.parse(content) as Record<string, unknown>;
        change(parsed);
        return JSON.stringify(parsed);
      });
    const audio = unpack(archive).find(({ name }) => name.endsWith('audio.wav')) as Member;
    const damaged = Buffer.from(archive);
    damaged.writeUInt8(damaged.readUInt8(1000) ^ 1, 1000);
    await checkRows<[what: string, bytes: Buffer, reason: RegExp]>(
      [
        ['no tar file', Buffer.from('not an archive'.repeat(100)), /at byte 0/],
        ['an empty file', Buffer.alloc(0), /cut off/],
        ['a changed byte', damaged, /checksums|JSON/],
        ['half of it', archive.subarray(0, archive.length / 2), /cut off/],
        ['no end', archive.subarray(0, archive.length - TAR_END.length), /cut off/],
        ['more behind its end', Buffer.concat([archive, archive]), /does not end/],
        [
          'a path that leaves the folder',
          pack([...unpack(archive), { name: traversal, content: audio.content }]),
          /no export has/,
        ],
        [
          'audio of no recording',
          pack([...unpack(archive), { name: `recordings/${other}/audio.wav`, content: audio.content }]),
          /not the audio/,
        ],
        ['audio twice', pack([...unpack(archive), audio]), /not the audio/],
        ['audio of another size', changed(audio.name, (content) => `${content}x`), /not the audio/],
        ['a newer format', manifest((it) => (it.format = 2)), /format 2.*Upgrade/],
        [
          'a migration of a newer release',
          manifest((it) => (it.migrations as string[]).push('Later1895602000000')),
          /Later1895602000000/,
        ],
        [
          'a table that is unknown',
          manifest((it) => (it.tables as object[]).push({ name: 'pg_authid', columns: [] })),
          /pg_authid/,
        ],
        [
          'a column that is unknown',
          manifest((it) => (it.tables as { columns: string[] }[])[0]?.columns.push('x" = 1')),
          /no column/,
        ],
        ['an id that is none', manifest((it) => (it.account_id = "' OR 1 = 1")), /no ids/],
        ['another account', changed(rowsOf('accounts'), withField('id', other)), /another account in accounts/],
        [
          'a row of another account',
          changed(rowsOf('webhooks'), withField('account_id', other)),
          /another account in webhooks/,
        ],
        ['audio of another account', changed(rowsOf('recordings'), withField('object_key', key)), /object_key/],
        [
          'a key that leaves the store',
          changed(rowsOf('recordings'), withField('object_key', traversal)),
          /object_key/,
        ],
        ['the test account of another one', changed(rowsOf('accounts'), withField('test_of', other)), /test account/],
        ['a row that is no JSON', changed(rowsOf('events'), () => '{\n'), /no JSON object/],
        ['a value of another type', changed(rowsOf('events'), withField('created_at', 'no time')), /rows of events/],
        [
          'a row of no recording',
          changed(rowsOf('transcriptions'), withField('recording_id', other)),
          /transcriptions/,
        ],
      ],
      async (_, bytes, reason) => {
        const { code, stdout, stderr } = await importFile(bytes);
        expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
        expect(stderr).toMatch(reason);
      },
    );
    await nothingOf(client.accountId);
  });

  it('refuses rows that hang on a recording of somebody else here', async () => {
    const victim = await target.account();
    const theirs = await upload(victim);
    for (const table of ['transcriptions', 'events', 'waveforms', 'shares']) {
      if (!unpack(archive).some(({ name }) => name === rowsOf(table))) continue;
      const { code, stderr } = await importFile(changed(rowsOf(table), withField('recording_id', theirs)));
      expect([table, code]).toEqual([table, 1]);
      expect(stderr).toMatch(table);
    }
    await nothingOf(client.accountId);
    await victim.get(`/v1/recordings/${theirs}`).expect(200);
  });

  it('reads all of it, and every answer is the same', async () => {
    const { code, stderr, result } = await importFile(archive);
    expect({ code, stderr: stderr.replace(/^\{.*account imported.*\}\n$/, '') }).toEqual({ code: 0, stderr: '' });
    expect(result).toMatchObject({
      account: client.accountId,
      audit_log: { broken: [] },
      imported: { objects: 5, rows: { accounts: 2, recordings: 5, people: 1 } },
      recordings_without_audio: 0,
      advice: 'API keys and secrets of webhooks work as before.',
    });
    const moved = client.at(target.url);
    const compare = async (path: string): Promise<void> => {
      const [before, after] = [await get(client, path), await get(moved, path)];
      expect([path, after]).toEqual([path, before]);
    };
    for (const [name, operation] of NAMED_OPERATIONS) {
      if (
        operation.method !== 'GET' ||
        operation.isStream ||
        name.includes('/export') ||
        operation.needs === 'callback'
      )
        continue;
      const [before, after] = [await call(client, operation, ids), await call(moved, operation, ids)];
      expect([name, after.status, settled(after.body)]).toEqual([name, before.status, settled(before.body)]);
      expect([name, after.status]).toEqual([name, 200]);
      expect(after.headers.etag).toBe(before.headers.etag);
    }
    for (const id of recordings) {
      await compare(`/v1/recordings/${id}?include=title,transcription`);
      await compare(`/v1/recordings/${id}/audio`);
      await compare(`/v1/recordings/${id}/waveform`);
      await compare(`/v1/recordings/${id}/transcriptions`);
      for (const format of ['json', 'text', 'srt', 'vtt', 'paragraphs', 'rttm']) {
        for (const version of ['current', 'original']) {
          await compare(`/v1/recordings/${id}/transcription?format=${format}&version=${version}`);
        }
      }
    }
    const filters = [
      'status=failed',
      'status=transcribed',
      'user_id=user-1',
      'text=there',
      'text=gate',
      'limit=1&page=2',
    ];
    for (const filter of filters) await compare(`/v1/recordings?${filter}&include=title,snippet`);
    for (const by of ['day', 'key', 'user']) await compare(`/v1/account/usage?by=${by}`);
    await compare('/v1/account/api-keys?mode=test');
    await compare('/v1/account/audit-log?limit=100&actor=api_key');
    await compare('/v1/events?limit=100');
    // The same upload is known.
    const again = await moved.upload(silenceWav(0.5)).set('Idempotency-Key', 'one').expect(201);
    expect(again.body.id).toBe(recordings[3]);
    const verified = await run(target.environment, 'audit:verify', '--account', client.accountId, '--json');
    expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([0, { broken: [] }]);
  });

  it('refuses an account that is there, which stays as it is', async () => {
    const { code, stderr } = await importFile(archive);
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`has the account ${client.accountId} already`));
    await client.at(target.url).get('/v1/account').expect(200);
  });

  it('that was interrupted leaves no row, and can be run again, also with storage in S3 and another SECRET_KEY', async () => {
    const s3 = await FakeS3.start();
    const variables = {
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: s3.url,
      S3_BUCKET: s3.bucket,
      S3_ACCESS_KEY_ID: 'test-key-id',
      S3_SECRET_ACCESS_KEY: 'test-secret-key',
      SECRET_KEY: 'another secret key of at least 32 characters',
    };
    const remote = await startService(target.environment, { ROLES: 'api', ...variables });
    const purged = await run(target.environment, 'account:purge', '--account', client.accountId, '--yes', '--json');
    expect(purged.code).toBe(0);
    await nothingOf(client.accountId);
    await target.database.query(
      `CREATE FUNCTION refuse_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'interrupted'; END $$`,
    );
    await target.database.query(
      'CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse_event()',
    );
    expect(await importFile(archive, target, variables)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/interrupted/),
    });
    await target.database.query('DROP FUNCTION refuse_event CASCADE');
    await nothingOf(client.accountId);
    const listed = await target.database.query('SELECT 1 FROM object_removals WHERE remove_after > now()');
    expect([s3.objects.size, listed.length]).toEqual([5, 5]);

    const { code, result } = await importFile(archive, target, variables);
    expect(code).toBe(0);
    expect(result.advice).toMatch(/\d+ API keys and 1 secrets of webhooks .* SECRET_KEY_PREVIOUS/);
    expect(await target.database.query('SELECT 1 FROM object_removals')).toEqual([]);
    expect((await client.at(remote.url).get('/v1/account')).status).toBe(401);
    const previous = { SECRET_KEY_PREVIOUS: source.environment.variables.SECRET_KEY as string };
    const knowing = await startService(target.environment, { ROLES: 'api', ...variables, ...previous });
    const path = `/v1/recordings/${recordings[0]}/audio`;
    expect(await get(client.at(knowing.url), path)).toEqual(await get(client, path));
    await knowing.close();
    await remote.close();
    await s3.stop();
  });
});

/** What a request changes itself, in the background, and what sessions tell, which do not come along. */
const OTHERWISE = new Set(['usage_count', 'last_used_at', 'last_seen_at']);
const settled = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (key, value: unknown) => (OTHERWISE.has(key) ? null : value)));

async function get(by: ApiClient, path: string): Promise<[status: number, body: unknown]> {
  const { status, body, headers } = await by.get(path).buffer(true).parse(collect);
  const text = (body as Buffer).toString('latin1');
  const isJson = headers['content-type']?.startsWith('application/json') === true;
  return [status, isJson ? settled(JSON.parse((body as Buffer).toString())) : text];
}
