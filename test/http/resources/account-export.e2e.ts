import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ArchiveWriter } from '../../../src/modules/archives/archive-writer.js';
import { TranscriptExportsService } from '../../../src/modules/transcriptions/exports/transcript-exports.service.js';
import { ObjectStore } from '../../../src/platform/storage/object-store.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { expectError } from '../../support/http/expect-errors.js';
import { createResources } from '../../support/http/operations.js';
import { archiveOf, exportAccount } from '../../support/state/account-export.js';
import { upload } from '../../support/state/recording-states.js';

const run = promisify(execFile);
const EXPORT = '/v1/account/export';
const ARCHIVE = `${EXPORT}/archive`;
const PART_BYTES = 16 * 1024 * 1024;

const service = useService({ ROLES: 'api' });
const query = <Row>(sql: string, parameters: unknown[] = []) => service.database.query<Row>(sql, parameters);

const partsOf = ({ accountId }: ApiClient) =>
  query<{ isDue: boolean }>(
    `SELECT remove_after <= now() AS "isDue" FROM object_removals WHERE starts_with(object_key, $1)`,
    [`${accountId}/exports/`],
  );

describe('the export of an account (D105)', () => {
  it('is one tar file of all that it has, with checksums, and a download is resumed over the borders of its parts', async () => {
    const client = await service.account();
    const { recording_id: id } = await createResources(service, client, { needs: 'corrected' });
    const minutes = (await client.upload(silenceWav(600)).expect(201)).body.id as string;
    const found = await exportAccount(client);
    expect(found.size_bytes).toBeGreaterThan(PART_BYTES);

    const whole = await archiveOf(client);
    expect(whole.length).toBe(found.size_bytes);
    const begun = await archiveOf(client, { Range: `bytes=0-${PART_BYTES + 99}` });
    const rest = await archiveOf(client, { Range: `bytes=${PART_BYTES + 100}-`, 'If-Range': `"${found.id}"` });
    expect(Buffer.concat([begun, rest]).equals(whole)).toBe(true);
    const beyond = await client.get(ARCHIVE).set('Range', `bytes=${whole.length}-`);
    expectError(beyond, 'RangeNotSatisfiableError', { size_bytes: whole.length });

    const folder = await mkdtemp(join(tmpdir(), 'voice-notes-export-'));
    await writeFile(join(folder, 'archive'), whole);
    await run('tar', ['-xf', 'archive'], { cwd: folder });
    await run('sh', ['-c', 'cat SHA256SUMS-* | sha256sum -c --strict --quiet'], { cwd: folder });
    expect(await readdir(join(folder, 'recordings', id))).toEqual(
      ['audio.wav', 'paragraphs.txt', 'text.json', 'text.rttm', 'text.srt', 'text.txt', 'text.vtt'].toSorted(),
    );
    const file = (name: string) => readFile(join(folder, name));
    for (const format of ['srt', 'vtt', 'text', 'paragraphs', 'rttm']) {
      const served = await client.get(`/v1/recordings/${id}/transcription?format=${format}`).expect(200);
      const name = { text: 'text.txt', paragraphs: 'paragraphs.txt' }[format] ?? `text.${format}`;
      expect((await file(`recordings/${id}/${name}`)).toString()).toBe(served.text);
    }
    expect((await file(`recordings/${minutes}/audio.wav`)).equals(silenceWav(600))).toBe(true);
    const rows = (await file('tables/recordings/000001.jsonl')).toString().trimEnd().split('\n');
    expect(rows.map((row) => (JSON.parse(row) as { id: string }).id)).toEqual([id, minutes]);
    const secrets = JSON.stringify((await run('sh', ['-c', 'cat tables/*/*.jsonl'], { cwd: folder })).stdout);
    for (const secret of [client.credentials.secret, 'whsec_']) expect(secrets).not.toContain(secret);
    await rm(folder, { recursive: true });
  });

  it('is of one account alone, and another one takes its place', async () => {
    const [client, other] = [await service.account(), await service.account()];
    expectError(await client.get(EXPORT), 'NotFoundError');
    const first = await exportAccount(client);
    expectError(await other.get(EXPORT), 'NotFoundError');
    expectError(await other.get(ARCHIVE), 'NotFoundError');
    const second = await exportAccount(client);
    expect(second.id).not.toBe(first.id);
    const changed = await client.get(ARCHIVE).set({ Range: 'bytes=0-9', 'If-Range': `"${first.id}"` });
    expect(changed.status).toBe(200);
    expect((await partsOf(client)).filter(({ isDue }) => !isDue)).toHaveLength(1);
  });

  it('is prepared once at a time, fails with its process, and expires', async () => {
    const client = await service.account();
    await exportAccount(client);
    const set = (columns: string) =>
      query(`UPDATE account_exports SET ${columns} WHERE account_id = $1`, [client.accountId]);
    await set(`status = 'preparing', size_bytes = NULL, lease_until = now() + interval '1 minute'`);
    expectError(await client.post(EXPORT), 'ConflictError');
    expectError(await client.get(ARCHIVE), 'ConflictError');
    await set(`lease_until = now()`);
    expect((await client.get(EXPORT).expect(200)).body).toMatchObject({ status: 'failed', archive_uri: null });
    await exportAccount(client);
    await set('expires_at = now()');
    expectError(await client.get(EXPORT), 'NotFoundError');
    expectError(await client.get(ARCHIVE), 'NotFoundError');
  });

  it('ends when an end user is erased', async () => {
    const client = await service.account();
    await exportAccount(client);
    expect(await partsOf(client)).toEqual([{ isDue: false }]);
    await client.delete('/v1/users/user-1').expect(202);
    expectError(await client.get(ARCHIVE), 'NotFoundError');
    expect((await partsOf(client)).filter(({ isDue }) => !isDue)).toEqual([]);
  });

  it('gives a statement more time than a request has: it may sort the rows of a year', async () => {
    const { accountId } = await service.account();
    const isSlow = `CREATE TYPE slowness AS ENUM ('slow');
      CREATE FUNCTION slow_json(slowness) RETURNS json LANGUAGE sql VOLATILE AS 'SELECT to_json(pg_sleep(0.6)::text)';
      CREATE CAST (slowness AS json) WITH FUNCTION slow_json(slowness);
      CREATE TABLE slow_rows (account_id uuid, slowness slowness)`;
    for (const statement of isSlow.split(';')) await query(statement);
    await query(`INSERT INTO slow_rows VALUES ($1, 'slow')`, [accountId]);
    const [store, texts] = [service.app.get(ObjectStore), service.app.get(TranscriptExportsService)];
    const archive: Uint8Array[] = [];
    const sink = async (bytes: Uint8Array) => void archive.push(bytes);
    await service.database.transact(async (tx) => {
      const client = (await tx.manager.queryRunner?.connect()) as { connectionParameters: { query_timeout: number } };
      const usual = client.connectionParameters.query_timeout;
      await tx.query(`SET LOCAL statement_timeout = '300ms'`);
      client.connectionParameters.query_timeout = 300;
      const writer = new ArchiveWriter(tx, store, texts, sink, new Date(), async () => null);
      await writer
        .write({ accountId, testAccountId: null }, new AbortController().signal)
        .finally(() => (client.connectionParameters.query_timeout = usual));
    });
    expect(Buffer.concat(archive).toString()).toContain('tables/slow_rows/000001.jsonl');
    for (const dropped of ['TABLE slow_rows', 'FUNCTION slow_json CASCADE', 'TYPE slowness'])
      await query(`DROP ${dropped}`);
  });

  it('that cannot be stored fails, and leaves nothing that stays', async () => {
    const client = await service.account();
    await upload(client);
    await query(`UPDATE recordings SET file_size_bytes = file_size_bytes + 1 WHERE account_id = $1`, [
      client.accountId,
    ]);
    await client.post(EXPORT).expect(202);
    await eventually(async () => (await client.get(EXPORT).expect(200)).body.status === 'failed');
    expect((await partsOf(client)).filter(({ isDue }) => !isDue)).toEqual([]);
    expectError(await client.get(ARCHIVE), 'ConflictError');
  });
});
