import request from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { RecordingErasureService } from '../../../src/modules/recordings/recording-erasure.service.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { expectError } from '../../support/http/expect-errors.js';
import { fail, transcribe } from '../../support/state/recording-states.js';

const service = useService({ ROLES: 'api' });

/** Uploads as an end user. @returns the id of the recording */
async function uploadAs(client: ApiClient, identity: string, idempotencyKey?: string): Promise<string> {
  const { body } = await client.post('/v1/account/access-tokens', { identity }).expect(201);
  const sending = request(client.url)
    .post('/v1/recordings')
    .set('Authorization', `Bearer ${body.token}`)
    .field('custom_tags', '{"name":"Zoe Quist"}')
    .attach('file', silenceWav(0.1), 'note.wav');
  if (idempotencyKey !== undefined) sending.set('Idempotency-Key', idempotencyKey);
  return (await sending.expect(201)).body.id as string;
}

const erase = (client: ApiClient, userId: string) => client.delete(`/v1/users/${encodeURIComponent(userId)}`);

async function feedOf(client: ApiClient): Promise<{ sequence: number; event: string; text: string }[]> {
  const { body } = await client.get('/v1/events?limit=100').expect(200);
  return (body.events as { sequence: number; event: string }[]).map(({ sequence, event, ...rest }) => ({
    sequence,
    event,
    text: JSON.stringify(rest),
  }));
}

async function rows(sql: string, ...parameters: unknown[]): Promise<number> {
  const [row] = await service.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${sql}`,
    parameters,
  );
  return row?.count ?? -1;
}

describe('the erasure of an end user (D46)', () => {
  it('deletes the recordings in every state, removes user and tags from the events, and keeps the usage', async () => {
    const client = await service.account();
    const webhook = { url: 'https://hooks.example.com/notes', events: ['recording.transcribed'] };
    await client.post('/v1/webhooks', webhook).expect(201);
    const [processing, transcribed, failed, deleted] = [
      await uploadAs(client, 'zoe/1'),
      await uploadAs(client, 'zoe/1', 'a key'),
      await uploadAs(client, 'zoe/1'),
      await uploadAs(client, 'zoe/1'),
    ];
    const other = await uploadAs(client, 'grace');
    await transcribe(service, transcribed, { text: 'what nobody may read' });
    await fail(service, failed);
    await service.database.query(
      `WITH sent AS (UPDATE deliveries SET last_response = 'hello Zoe' WHERE account_id = $1 RETURNING id)
       INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms, status, response)
       SELECT id, 1, now(), 1, 500, 'sorry Zoe' FROM sent`,
      [client.accountId],
    );
    await client.delete(`/v1/recordings/${deleted}`).expect(204);
    const usage = async () => (await client.get('/v1/account').expect(200)).body.usage.current_month;
    const before = await usage();

    const answer = await erase(client, 'zoe/1').expect(202);
    expect(answer.body).toEqual({ deleted_recordings: 3, redacted_events: 7, complete: true });

    const { body: list } = await client.get('/v1/recordings').expect(200);
    expect([list.total, list.recordings.map(({ id }: { id: string }) => id)]).toEqual([1, [other]]);
    for (const id of [processing, transcribed, failed]) {
      expectError(await client.get(`/v1/recordings/${id}`), 'NotFoundError');
      expect(await rows('transcriptions WHERE recording_id = $1', id)).toBe(0);
      expect(await rows('object_removals WHERE object_key LIKE $1 AND remove_after <= now()', `%${id}%`)).toBe(1);
    }
    const after = await usage();
    expect(after).toEqual({ ...before, storage_used_bytes: before.storage_used_bytes / 4 });
    expect((await client.get('/v1/account/quotas').expect(200)).body.quotas[2].used).toBeCloseTo(0.1);

    expect(await rows(`deliveries WHERE account_id = $1`, client.accountId)).toBe(1);
    expect(await rows(`deliveries WHERE last_response IS NOT NULL`)).toBe(0);
    expect(await rows(`delivery_attempts WHERE response IS NOT NULL`)).toBe(0);

    const feed = await feedOf(client);
    expect(feed.map(({ sequence }) => sequence)).toEqual(feed.map((_, i) => i + 1));
    expect(feed.filter(({ event }) => event === 'recording.deleted')).toHaveLength(4);
    expect(feed.filter(({ text }) => /zoe|Quist/.test(text) && !text.includes('grace'))).toEqual([]);
    expect(feed.filter(({ text }) => text.includes('"identity":"grace"'))).toHaveLength(1);
    expect(await rows(`idempotency_keys WHERE account_id = $1`, client.accountId)).toBe(0);
    expect(await rows(`user_erasures`)).toBe(0);

    const again = await erase(client, 'zoe/1').expect(202);
    expect(again.body).toEqual({ deleted_recordings: 0, redacted_events: 0, complete: true });
  });

  it('takes what waited to be transcribed again out of the queue of the account', async () => {
    const client = await service.account();
    const id = await uploadAs(client, 'zoe');
    await transcribe(service, id);
    await client.post(`/v1/recordings/${id}/transcribe`, {}).expect(202);
    const queued = async () => (await client.get('/v1/account/quotas').expect(200)).body.quotas[2].used as number;
    expect(await queued()).toBeCloseTo(0.1);
    await erase(client, 'zoe').expect(202);
    expect(await queued()).toBe(0);
  });

  it('touches no other account, and takes new uploads of the user', async () => {
    const [client, stranger] = [await service.account(), await service.account()];
    const [, id] = [await uploadAs(client, 'zoe'), await uploadAs(stranger, 'zoe')];
    await erase(client, 'zoe').expect(202);
    expect((await stranger.get(`/v1/recordings/${id}`).expect(200)).body.user_id).toBe('zoe');
    const next = await uploadAs(client, 'zoe');
    expect((await client.get(`/v1/recordings/${next}`).expect(200)).body.user_id).toBe('zoe');
  });

  it('ends at the time of the request: what comes while it is completed stays, with its key, events and usage', async () => {
    const client = await service.account();
    const before = await uploadAs(client, 'zoe', 'first');
    await service.database.query(`INSERT INTO user_erasures VALUES ($1, 'zoe', clock_timestamp())`, [client.accountId]);
    const after = await uploadAs(client, 'zoe', 'second');
    const worker = await startService(service.environment, { ROLES: 'deliverer' });
    await eventually(async () => (await rows('user_erasures')) === 0);
    await worker.close();
    expectError(await client.get(`/v1/recordings/${before}`), 'NotFoundError');
    expect((await client.get(`/v1/recordings/${after}`).expect(200)).body.user_id).toBe('zoe');
    expect(await rows('idempotency_keys WHERE account_id = $1', client.accountId)).toBe(1);
    const naming = (await feedOf(client)).filter(({ text }) => text.includes('zoe'));
    expect(naming.map(({ text }) => text.includes(after))).toEqual([true]);

    // And again, with an upload in the middle: the usage of the user is that of the upload alone.
    const erasure = service.app.get(RecordingErasureService);
    const spy = jest.spyOn(erasure, 'forgetIdempotencyKeys');
    spy.mockImplementationOnce(async () => void (await uploadAs(client, 'zoe')));
    await erase(client, 'zoe').expect(202);
    const { body } = await client.get('/v1/account/usage?by=user').expect(200);
    const counts = (body.items as { user_id: string | null; recordings_count: number }[]).map(
      ({ user_id: userId, recordings_count: count }) => [userId, count],
    );
    expect(counts).toEqual([
      [null, 2],
      ['zoe', 1],
    ]);
  });

  it('refuses an id that cannot be one', async () => {
    const client = await service.account();
    for (const id of ['a\u0000b', 'x'.repeat(256)]) {
      expectError(await erase(client, id), 'ValidationError', expect.objectContaining({ field: 'user_id' }));
    }
  });

  it('is right also when two erase the same user at the same time', async () => {
    const client = await service.account();
    await service.database.query(
      `INSERT INTO recordings (id, account_id, user_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
         audio_format, upload_source, status, created_at, updated_at)
       SELECT gen_random_uuid(), $1::uuid, 'zoe', 'n.wav', $1::uuid || '/' || i, 'b', 1000, 10, 'wav', 'api', 'processing', now(), now()
       FROM generate_series(1, 300) i`,
      [client.accountId],
    );
    const answers = await Promise.all([1, 2, 3].map(() => erase(client, 'zoe').expect(202)));
    const deleted = answers.map(({ body }) => body.deleted_recordings as number);
    expect(deleted.reduce((sum, count) => sum + count)).toBe(300);
    expect(answers.every(({ body }) => body.complete)).toBe(true);
    expect(await rows('events WHERE account_id = $1', client.accountId)).toBe(300);
  });

  it('is completed by the reconciler when the process that began it has died', async () => {
    const client = await service.account();
    const id = await uploadAs(client, 'zoe');
    await service.database.query(`INSERT INTO user_erasures VALUES ($1, 'zoe', now())`, [client.accountId]);
    const worker = await startService(service.environment, { ROLES: 'deliverer' });
    await eventually(async () => (await rows('user_erasures')) === 0);
    expectError(await client.get(`/v1/recordings/${id}`), 'NotFoundError');
    expect(JSON.stringify(await feedOf(client))).not.toContain('zoe');
    await worker.close();
  });
});
