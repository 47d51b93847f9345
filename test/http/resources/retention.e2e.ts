import { CounterAuditService } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { ObjectStore } from '../../../src/platform/storage/object-store.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const service = useService({ ROLES: 'api' });
let client: ApiClient;

const FOR_EVER = { retain_audio_days: null, retain_text_days: null, delete_audio_after: null };

beforeAll(async () => {
  await startService(service.environment, { ROLES: 'deliverer' });
});

beforeEach(async () => {
  client = await service.account();
});

async function uploadFor(identity: string, fields: Record<string, string> = {}): Promise<string> {
  const { body: token } = await client.post('/v1/account/access-tokens', { identity }).expect(201);
  const { body } = await client
    .upload(silenceWav(0.1), fields)
    .set('Authorization', `Bearer ${token.token}`)
    .expect(201);
  return body.id as string;
}

/** Moves a recording into the past: its times are those of an upload `days` ago. */
const age = (id: string, days: number) =>
  service.database.query(
    `UPDATE recordings SET audio_due_at = audio_due_at - make_interval(days => $2),
       text_due_at = text_due_at - make_interval(days => $2) WHERE id = $1`,
    [id, days],
  );

const retentionOf = async (id: string) =>
  (await client.get(`/v1/recordings/${id}?include=retention`).expect(200)).body.retention;
const isGone = async (id: string) => (await client.get(`/v1/recordings/${id}`)).status === 404;
const audioIsGone = async (id: string) => (await retentionOf(id)).audio_deleted_at !== null;

/** Rounds of the reconciler that end from now on have seen everything that was done before. */
async function afterSweep(): Promise<void> {
  const id = await upload(client, { retain_text_days: '1' });
  await fail(service, id);
  await age(id, 1);
  await eventually(() => isGone(id));
}

const objects = () => service.app.get(ObjectStore).countUnder(client.accountId);
const storedBytes = async (): Promise<number> =>
  (await client.get('/v1/account/quotas').expect(200)).body.quotas[0].used;

async function expectExactCounts(): Promise<void> {
  const audit = new CounterAuditService(service.database);
  expect(await audit.differences(client.accountId)).toEqual([]);
  expect(await audit.breakdownDifferences(client.accountId)).toEqual([]);
}

describe('D78: the retention of an account', () => {
  it('is taken at the upload, unless that says something else; a later change touches no recording', async () => {
    expect((await client.get('/v1/account/retention').expect(200)).body).toEqual({
      ...FOR_EVER,
      uri: '/v1/account/retention',
    });
    const forEver = await upload(client);
    const policy = { retain_audio_days: 30, retain_text_days: 365, delete_audio_after: null };
    expect((await client.put('/v1/account/retention', policy).expect(200)).body).toMatchObject(policy);
    const asAccount = await upload(client);
    const shorter = await upload(client, { retain_text_days: '10', delete_audio_after: 'transcribed' });
    await client.put('/v1/account/retention', FOR_EVER).expect(200);

    const daysOf = async (id: string) => {
      const { created_at: created } = (await client.get(`/v1/recordings/${id}`)).body;
      const { audio_expires_at: audio, text_expires_at: text, delete_audio_after: after } = await retentionOf(id);
      const days = (time: string | null) => time && (Date.parse(`${time}Z`) - Date.parse(`${created}Z`)) / 86_400_000;
      return [days(audio), days(text), after];
    };
    expect(await daysOf(forEver)).toEqual([null, null, null]);
    expect(await daysOf(asAccount)).toEqual([30, 365, null]);
    // The audio goes with the text at the latest.
    expect(await daysOf(shorter)).toEqual([10, 10, 'transcribed']);
  });

  it.each([
    [{ ...FOR_EVER, retain_audio_days: 0 }, 'retain_audio_days', 'must be an integer from 1 to 3650, or null'],
    [{ ...FOR_EVER, retain_text_days: '7' }, 'retain_text_days', 'must be an integer from 1 to 3650, or null'],
    [{ retain_audio_days: 7, delete_audio_after: null }, 'retain_text_days', 'is required'],
    [{ ...FOR_EVER, delete_audio_after: 'failed' }, 'delete_audio_after', 'must be transcribed, or null'],
    [
      { ...FOR_EVER, retain_text_days: 7 },
      'retain_audio_days',
      expect.stringContaining('at most retain_text_days (7)'),
    ],
    [{ ...FOR_EVER, days: 1 }, 'days', expect.any(String)],
  ])('refuses %j', async (body, field, reason) => {
    const { body: answer } = await client.put('/v1/account/retention', body).expect(400);
    expect(answer.error.details).toMatchObject({ field, reason });
  });

  it('lists what goes next in the order of the times, a page at a time', async () => {
    const [late, early, held] = [
      await upload(client, { retain_text_days: '20' }),
      await upload(client, { retain_audio_days: '10' }),
      await upload(client, { retain_audio_days: '15', retain_text_days: '30' }),
    ];
    await upload(client);
    await client.put(`/v1/recordings/${held}/hold`, { reason: 'Complaint' }).expect(200);
    const { body: first } = await client.get('/v1/account/retention/upcoming?limit=2').expect(200);
    expect(first.items).toMatchObject([
      { recording_id: early, deletes: 'audio', on_hold: false },
      { recording_id: held, deletes: 'audio', on_hold: true },
    ]);
    const { body: second } = await client.get(first.next_uri).expect(200);
    expect(second).toMatchObject({ items: [{ recording_id: late, deletes: 'recording' }], next_uri: null });
    const { body: refused } = await client.get('/v1/account/retention/upcoming?after=x').expect(400);
    expect(refused.error.details).toMatchObject({ field: 'after' });
  });
});

describe('D78: what is due', () => {
  it('audio goes with its waveform and its bytes; the text is served and found, and nothing runs again', async () => {
    const id = await upload(client, { retain_audio_days: '30' });
    await transcribe(service, id, { text: 'the delivery is late' });
    const failed = await upload(client, { retain_audio_days: '30' });
    await fail(service, failed);
    const kept = await upload(client, { retain_audio_days: '30' });
    await transcribe(service, kept);
    const before = await storedBytes();
    for (const one of [id, failed]) await age(one, 30);
    await age(kept, 29);
    for (const one of [id, failed]) await eventually(() => audioIsGone(one));
    await eventually(async () => (await objects()) === 1);

    expect(await storedBytes()).toBe(before / 3);
    await expectExactCounts();
    expect(await audioIsGone(kept)).toBe(false);
    expect(await retentionOf(id)).toMatchObject({ audio_expires_at: null, text_expires_at: null, hold: null });
    const { body: noAudio } = await client.get(`/v1/recordings/${id}/audio`).expect(404);
    expect(noAudio.error).toMatchObject({ code: 'AUDIO_DELETED', type: 'NotFoundError' });
    const { body: noUrl } = await client.post(`/v1/recordings/${id}/audio-url`).expect(404);
    expect(noUrl.error.code).toBe('AUDIO_DELETED');
    const { body: noWaveform } = await client.get(`/v1/recordings/${id}/waveform`).expect(404);
    expect(noWaveform.error.code).toBe('WAVEFORM_NOT_AVAILABLE');
    for (const again of [`${id}/transcribe`, `${failed}/transcribe`, `${failed}/retry`]) {
      const { body } = await client.post(`/v1/recordings/${again}`, {}).expect(409);
      expect(body.error.message).toMatch('audio of this recording has been deleted');
    }
    expect((await client.get(`/v1/recordings/${id}/transcription`).expect(200)).body.text).toBe('the delivery is late');
    expect((await client.get('/v1/recordings?q=delivery').expect(200)).body.total).toBe(1);

    await client.delete(`/v1/recordings/${id}`).expect(204);
    expect(await storedBytes()).toBe(before / 3);
    await expectExactCounts();
  });

  it('with the text all of it goes as by a deletion, and its events name nobody any more', async () => {
    const id = await uploadFor('ada', { custom_tags: '{"patient":"P-7"}', retain_text_days: '365' });
    await transcribe(service, id, { text: 'zebra' });
    await age(id, 365);
    await eventually(() => isGone(id));
    await eventually(async () => (await objects()) === 0);

    const { body: feed } = await client.get('/v1/events?after=0').expect(200);
    const kinds = feed.events.map((event: { event: string }) => event.event);
    expect(kinds).toEqual(['recording.accepted', 'recording.transcribed', 'recording.deleted']);
    expect(JSON.stringify(feed)).not.toMatch(/ada|P-7/);
    expect((await client.get('/v1/recordings?q=zebra').expect(200)).body.total).toBe(0);
    expect(await storedBytes()).toBe(0);
    await expectExactCounts();
    expect((await client.get('/v1/account/usage?by=user').expect(200)).body.items).toMatchObject([
      { user_id: 'ada', recordings_count: 1, storage_used_bytes: 0 },
    ]);
  });

  it('waits for the end of a transcription, also of another one', async () => {
    const id = await upload(client, { retain_audio_days: '1' });
    const again = await upload(client, { retain_audio_days: '1' });
    await transcribe(service, again);
    await client.post(`/v1/recordings/${again}/transcribe`, {}).expect(202);
    for (const one of [id, again]) await age(one, 2);
    await afterSweep();
    for (const one of [id, again]) {
      expect(await audioIsGone(one)).toBe(false);
      await transcribe(service, one);
      await eventually(() => audioIsGone(one));
    }
    await expectExactCounts();
  });

  it('audio that is to go after its transcription stays of a recording that failed', async () => {
    const failed = await upload(client, { delete_audio_after: 'transcribed' });
    await fail(service, failed);
    const done = await upload(client, { delete_audio_after: 'transcribed' });
    await transcribe(service, done);
    await eventually(() => audioIsGone(done));
    await afterSweep();
    expect(await audioIsGone(failed)).toBe(false);
    await client.post(`/v1/recordings/${failed}/retry`).expect(202);
    await transcribe(service, failed);
    await eventually(() => audioIsGone(failed));
  });
});

describe('D79: a hold', () => {
  const hold = (id: string, reason = 'Complaint C-1') =>
    client.put(`/v1/recordings/${id}/hold`, { reason }).expect(200);

  it('keeps a recording that is due, and one that is to be deleted; released, both go', async () => {
    const id = await upload(client, { retain_text_days: '1' });
    await transcribe(service, id);
    const { body: first } = await hold(id);
    const { body: second } = await hold(id, 'Complaint C-2');
    expect(second).toEqual({ ...first, reason: 'Complaint C-2' });
    await age(id, 2);
    await afterSweep();
    expect((await retentionOf(id)).hold).toEqual({ reason: 'Complaint C-2', held_at: first.held_at });
    const { body: refused } = await client.delete(`/v1/recordings/${id}`).expect(409);
    expect(refused.error.message).toMatch('Complaint C-2');

    await client.delete(`/v1/recordings/${id}/hold`).expect(204);
    await client.delete(`/v1/recordings/${id}/hold`);
    await eventually(() => isGone(id));
  });

  it('is told of by the erasure of an end user, which erases the rest', async () => {
    const [held, free] = [await uploadFor('bob'), await uploadFor('bob')];
    await hold(held);
    const { body: partly } = await client.delete('/v1/users/bob').expect(202);
    expect(partly).toMatchObject({ deleted_recordings: 1, held_recordings: 1, complete: false });
    expect([await isGone(held), await isGone(free)]).toEqual([false, true]);
    await expectExactCounts();
    await client.delete(`/v1/recordings/${held}/hold`).expect(204);
    const { body: all } = await client.delete('/v1/users/bob').expect(202);
    expect(all).toEqual({ deleted_recordings: 1, redacted_events: expect.any(Number), complete: true });
    expect(await isGone(held)).toBe(true);
    await expectExactCounts();
  });

  it('needs a reason, and a recording of the account', async () => {
    const id = await upload(client);
    const { body } = await client.put(`/v1/recordings/${id}/hold`, { reason: ' ' }).expect(400);
    expect(body.error.details).toMatchObject({ field: 'reason' });
    const other = await service.account();
    await other.put(`/v1/recordings/${id}/hold`, { reason: 'x' }).expect(404);
    await other.delete(`/v1/recordings/${id}/hold`).expect(404);
  });
});
