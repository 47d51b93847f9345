import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { RecordingLeasesService } from '../../../src/modules/recordings/leases/recording-leases.service.js';
import { selectDifferences } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { RetranscriptionsService } from '../../../src/modules/transcriptions/retranscriptions.service.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { expectError, expectHeaders, expectInvalid, statusesOf } from '../../support/http/expect-errors.js';
import { SINGLE_RECORDING, TRANSCRIPTION_VERSION } from '../../support/http/response-shapes.js';
import {
  claimRecording,
  fail,
  transcribe,
  type TranscriptOptions,
  upload,
} from '../../support/state/recording-states.js';

const of = (id: string): string => `/v1/recordings/${id}`;
const FIRST: TranscriptOptions = { text: 'go forward ten meters', model: 'old-model', durationMs: 1000 };
const SECOND: TranscriptOptions = { text: 'Go forward ten metres.', model: 'new-model', durationMs: 1200 };

interface Event {
  event: string;
  recording: { id: string; status: string };
  error?: { code: string; message: string };
}

describe('transcribing again (D49)', () => {
  let client: ApiClient;
  let id: string;

  const service = useService({ ROLES: 'api', CLIENT_ENGINES: 'pocketsphinx' });

  beforeEach(async () => {
    client = await service.account();
    id = await transcribed();
  });

  async function transcribed(by = client): Promise<string> {
    const recordingId = await upload(by);
    await transcribe(service, recordingId, FIRST);
    return recordingId;
  }

  const again = (recordingId = id, body: object = {}) => client.post(`${of(recordingId)}/transcribe`, body);
  const versionsOf = async (recordingId = id) =>
    (await client.get(`${of(recordingId)}/transcriptions`).expect(200)).body;
  const textOf = async (recordingId = id): Promise<string> =>
    (await client.get(`${of(recordingId)}/transcription`).expect(200)).body.text;
  const found = async (q: string): Promise<string[]> =>
    (await client.get(`/v1/recordings?q=${q}`).expect(200)).body.recordings.map((each: { id: string }) => each.id);
  const eventsOf = async (recordingId = id): Promise<Event[]> => {
    const rows = await service.database.query<{ body: string }>(
      `SELECT body FROM events WHERE recording_id = $1 AND kind IN ('recording.transcribed', 'recording.failed')
       ORDER BY run`,
      [recordingId],
    );
    return rows.map(({ body }) => JSON.parse(body) as Event);
  };
  const queuedSeconds = async (by = client): Promise<number> =>
    (await by.get('/v1/account/quotas').expect(200)).body.quotas.find(
      ({ quota }: { quota: string }) => quota === 'queued_audio_seconds',
    ).used as number;
  const rowOf = async (recordingId = id) => {
    const [row] = await service.database.query<Record<string, unknown>>(
      `SELECT status, run, attempt, rerun, requested_engine, language, lease_token FROM recordings WHERE id = $1`,
      [recordingId],
    );
    return row;
  };

  it('serves, searches and exports the present text until the new one is there, then that', async () => {
    const before = await client.get(`${of(id)}/transcription`).expect(200);
    const { body: listed } = await client.get('/v1/recordings?status=transcribed').expect(200);
    const answer = await again().expect(202);
    expect(answer.body).toStrictEqual({ ...SINGLE_RECORDING, id, status: 'transcribed' });
    expectHeaders(answer);

    const lease = await claimRecording(service, id);
    const meanwhile = await client.get(`${of(id)}/transcription`).expect(200);
    expect([meanwhile.body, meanwhile.headers.etag]).toEqual([before.body, before.headers.etag]);
    const srt = client.get(`${of(id)}/transcription?format=srt`).buffer(true);
    expect((await srt.expect(200)).text).toContain('go forward');
    expect(await found('meters')).toContain(id);
    expect((await client.get(of(id)).expect(200)).body.status).toBe('transcribed');
    expect((await client.get('/v1/recordings?status=transcribed').expect(200)).body.total).toBe(listed.total);
    await service.app.get(RecordingLeasesService).release(lease as NonNullable<typeof lease>);

    await transcribe(service, id, SECOND);
    const after = await client.get(`${of(id)}/transcription`).expect(200);
    expect(after.body).toMatchObject({ text: SECOND.text, model: 'new-model', recording_id: id });
    expect(after.headers.etag).not.toBe(before.headers.etag);
    expect([await found('metres'), await found('meters')]).toEqual([[id], expect.not.arrayContaining([id])]);
    const { body: recording } = await client.get(of(id)).expect(200);
    expect(recording).toMatchObject({ status: 'transcribed', duration_seconds: 1.2 });
    expect((await client.get('/v1/recordings?status=transcribed').expect(200)).body.total).toBe(listed.total);
  });

  it('lists the versions with engine, model and time, the served one first, and the one that is to come', async () => {
    const first = await versionsOf();
    expect(first).toMatchObject({ total: 1, page_size: 1, pending: null, next_page_uri: null });
    expect(first.transcriptions).toStrictEqual([{ ...TRANSCRIPTION_VERSION, is_served: true, text: FIRST.text }]);

    const engine = 'pocketsphinx';
    await again(id, { engine }).expect(202);
    expect((await versionsOf()).pending).toEqual({ engine, requested_at: expect.any(String) });
    await transcribe(service, id, SECOND);
    const both = await versionsOf();
    expect(both).toMatchObject({ total: 2, pending: null });
    expect(both.transcriptions).toMatchObject([
      { text: SECOND.text, model: 'new-model', is_served: true },
      { text: FIRST.text, model: 'old-model', is_served: false, id: first.transcriptions[0].id },
    ]);
    const { body: page } = await client.get(`${of(id)}/transcriptions?page=1&limit=1`).expect(200);
    expect(page).toMatchObject({ total: 2, page_size: 1, previous_page_uri: expect.stringContaining('page=0') });
    expect(page.transcriptions[0].model).toBe('old-model');

    const processing = await upload(client);
    expect(await versionsOf(processing)).toMatchObject({ total: 0, transcriptions: [], pending: null });
  });

  it('keeps the last five versions, and none when the recording is deleted', async () => {
    for (let i = 2; i <= 7; i++) {
      await again().expect(202);
      await transcribe(service, id, { ...SECOND, model: `model-${i}` });
    }
    const { transcriptions, total } = await versionsOf();
    expect(transcriptions.map(({ model }: { model: string }) => model)).toEqual([
      'model-7',
      'model-6',
      'model-5',
      'model-4',
      'model-3',
    ]);
    expect(total).toBe(5);
    await client.delete(of(id)).expect(204);
    const left = await service.database.query('SELECT FROM earlier_transcriptions WHERE recording_id = $1', [id]);
    expect(left).toEqual([]);
    expectError(await client.get(`${of(id)}/transcriptions`), 'NotFoundError');
  });

  it('is announced by a new event, whose run is the next', async () => {
    await again().expect(202);
    expect(await eventsOf()).toHaveLength(1);
    await transcribe(service, id, SECOND);
    await again().expect(202);
    await fail(service, id, 'The engine is out of words');
    const events = await eventsOf();
    expect(events.map(({ event }) => event)).toEqual([
      'recording.transcribed',
      'recording.transcribed',
      'recording.failed',
    ]);
    expect(events[2]?.error).toEqual({
      code: 'TRANSCRIPTION_FAILED',
      message: 'Transcribing again failed, and the present text stays: The engine is out of words',
    });
    expect(await rowOf()).toMatchObject({ run: 3, rerun: null, lease_token: null });
  });

  it('that fails leaves the recording and its text as they are', async () => {
    const [{ body: recording }, { body: text }] = [
      await client.get(of(id)),
      await client.get(`${of(id)}/transcription`),
    ];
    const retranscriptions = service.app.get(RetranscriptionsService);
    const ofOperator = {
      accountId: client.accountId,
      modelNot: 'newer',
      since: '2026-01-01',
      rate: null,
      quiet: false,
    };
    expect(await retranscriptions.begin(ofOperator)).toHaveLength(1);
    await again().expect(202);
    await fail(service, id);
    // That one was not the operator's.
    expect(await retranscriptions.progress(client.accountId)).toMatchObject([{ failed: 0 }]);
    expect((await client.get(of(id)).expect(200)).body).toEqual(recording);
    expect([await queuedSeconds(), await selectDifferences(service.database, client.accountId)]).toEqual([0, []]);
    expect((await client.get(`${of(id)}/transcription`).expect(200)).body).toEqual(text);
    expect(await versionsOf()).toMatchObject({ total: 1, pending: null });
    expect(await found('meters')).toContain(id);
    await again().expect(202);
  });

  it('leaves a correction in front, also one made meanwhile, and its removal shows the new text', async () => {
    const other = await transcribed();
    await client.put(`${of(id)}/transcription`, { text: 'Corrected before.' }).expect(200);
    await again().expect(202);
    await again(other).expect(202);
    await client.put(`${of(other)}/transcription`, { text: 'Corrected meanwhile.' }).expect(200);
    const { headers } = await client.get(`${of(id)}/transcription`).expect(200);
    for (const [each, corrected] of [
      [id, 'Corrected before.'],
      [other, 'Corrected meanwhile.'],
    ] as const) {
      await transcribe(service, each, SECOND);
      expect(await textOf(each)).toBe(corrected);
      const { body: original } = await client.get(`${of(each)}/transcription?version=original`).expect(200);
      expect(original).toMatchObject({ text: SECOND.text, model: 'new-model' });
      expect((await versionsOf(each)).transcriptions).toMatchObject([
        { text: SECOND.text, corrected_text: corrected, is_served: true },
        { text: FIRST.text, corrected_text: null, is_served: false },
      ]);
    }
    expect((await found('corrected')).toSorted()).toEqual([id, other].toSorted());
    expect(await found('metres')).toEqual([]);
    expectError(
      await client.put(`${of(id)}/transcription`, { text: 'x' }).set('If-Match', headers.etag as string),
      'PreconditionFailedError',
      { etag: expect.any(String) },
    );
    await client.delete(`${of(id)}/transcription`).expect(204);
    expect([await textOf(), await found('metres')]).toEqual([SECOND.text, [id]]);
  });

  it('takes a failed recording back to processing, with the engine and language that are asked for', async () => {
    const failed = await upload(client, { language: 'german' });
    await fail(service, failed, 'Language not supported: german.');
    const { body } = await again(failed, { language: 'English' }).expect(202);
    expect(body).toMatchObject({ status: 'processing', processed_at: null, features: null });
    expect(await rowOf(failed)).toMatchObject({ run: 2, rerun: null, language: 'english', requested_engine: null });
    expectError(await again(failed), 'ConflictError');
    await transcribe(service, failed, SECOND);
    expect(await textOf(failed)).toBe(SECOND.text);
    expect((await eventsOf(failed)).map(({ event }) => event)).toEqual(['recording.failed', 'recording.transcribed']);
  });

  it('is refused while it is pending, and of ten clicks at once one is taken', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => again()));
    expect(statusesOf(answers)).toEqual([202, ...Array<number>(9).fill(409)]);
    await claimRecording(service, id);
    expectError(await again(), 'ConflictError');
    expectError(await again(await upload(client)), 'ConflictError');
    await service.database.query('UPDATE recordings SET lease_until = now() WHERE id = $1', [id]);
    await transcribe(service, id, SECOND);
    await again().expect(202);
  });

  it('refuses what breaks a rule, naming the field', async () => {
    await checkRows<[body: object, field: string, reason: RegExp]>(
      [
        [{ engine: 'parrot' }, 'engine', /must be the name of an engine: \w+/],
        [{ engine: 7 }, 'engine', /must be text/],
        [{ language: 'en' }, 'language', /not a code: english/],
        [{ language: 'elvish' }, 'language', /English name of a language/],
        [{ vocabulary: 'Grafana' }, 'vocabulary', /must be a list/],
        [{ vocabulary: ['x'.repeat(65)] }, 'vocabulary', /term 1 must be at most 64/],
      ],
      async (body, field, reason) => expectInvalid(await again(id, body), field, reason),
    );
    expect(await rowOf()).toMatchObject({ rerun: null });
  });

  it('keeps the vocabulary of the upload unless it has another, and takes no engine that the account has not', async () => {
    const termsOf = async () =>
      (await service.database.query('SELECT vocabulary FROM recordings WHERE id = $1', [id]))[0];
    await again(id, { vocabulary: ['Grafana', 'grafana', ' Zoë '] }).expect(202);
    expect(await termsOf()).toEqual({ vocabulary: ['Grafana', 'Zoë'] });
    await transcribe(service, id, SECOND);
    await again().expect(202);
    expect(await termsOf()).toEqual({ vocabulary: ['Grafana', 'Zoë'] });
    await transcribe(service, id, SECOND);
    await again(id, { vocabulary: [] }).expect(202);
    expect(await termsOf()).toEqual({ vocabulary: null });
    await transcribe(service, id, SECOND);

    await service.database.query(`UPDATE accounts SET engines = '[{"name":"own"}]' WHERE id = $1`, [client.accountId]);
    expectInvalid(await again(id, { engine: 'pocketsphinx' }), 'engine', /must be the name of an engine: own$/);
    await again(id, { engine: 'own' }).expect(202);
    expect(await rowOf()).toMatchObject({ requested_engine: 'own' });
  });

  it('lets clients name no engine, unless the operator opens some; a name that is no engine stops the start', async () => {
    const closed = await startService(service.environment, { ROLES: 'api' });
    const refused = await request(closed.url)
      .post(`${of(id)}/transcribe`)
      .set(client.headers)
      .send({ engine: 'pocketsphinx' });
    expectInvalid(refused, 'engine', /must be left out/);
    await closed.close();
    const wrong = startService(service.environment, { ROLES: 'api', CLIENT_ENGINES: 'parrot' });
    await expect(wrong).rejects.toThrow(
      /CLIENT_ENGINES names parrot, and the engines configured here are .*pocketsphinx/,
    );
  });

  it('waits in the queue of the account, within its quota, and is audio of the month', async () => {
    const owner = await service.account();
    const [note, other] = [await transcribed(owner), await transcribed(owner)];
    await service.app.get(AccountService).update(owner.accountId, { quotas: { queuedAudioSeconds: 1 } });
    const usage = async () => (await owner.get('/v1/account').expect(200)).body.usage.current_month;
    const before = await usage();
    await owner.post(`${of(note)}/transcribe`, {}).expect(202);
    const after = { ...before, total_duration_seconds: before.total_duration_seconds + 1 };
    expect([await queuedSeconds(owner), await usage()]).toEqual([1, after]);
    const differences = () => selectDifferences(service.database, owner.accountId);
    expect(await differences()).toEqual([]);
    const refused = await owner.post(`${of(other)}/transcribe`, {});
    expectError(refused, 'QuotaExceededError', expect.objectContaining({ quota: 'queued_audio_seconds' }));
    await transcribe(service, note, { ...SECOND, durationMs: 900 });
    expect(await queuedSeconds(owner)).toBe(0);
    await owner.post(`${of(note)}/transcribe`, {}).expect(202);
    expect(await queuedSeconds(owner)).toBe(0.9);
    await owner.delete(of(note)).expect(204);
    expect([await queuedSeconds(owner), await differences()]).toEqual([0, []]);
  });

  it('is refused once the audio of the month is used up, by any number of runs, while a failed one is not', async () => {
    const owner = await service.account();
    const [note, failed] = [await transcribed(owner), await upload(owner)];
    await fail(service, failed);
    await service.app.get(AccountService).update(owner.accountId, { quotas: { audioSecondsPerMonth: 3 } });
    await owner.post(`${of(note)}/transcribe`, {}).expect(202);
    await transcribe(service, note, FIRST);
    const refused = await owner.post(`${of(note)}/transcribe`, {});
    expectError(refused, 'QuotaExceededError', expect.objectContaining({ quota: 'audio_seconds_per_month' }));
    expect(await rowOf(note)).toMatchObject({ rerun: null });
    await owner.post(`${of(failed)}/transcribe`, {}).expect(202);
  });

  it('ends without a trace when the recording is deleted meanwhile (D24)', async () => {
    await again().expect(202);
    const lease = await claimRecording(service, id);
    await client.delete(of(id)).expect(204);
    const outcome = { status: 'failed', reason: 'late' } as const;
    expect(await service.app.get(RecordingLeasesService).finish(lease as NonNullable<typeof lease>, outcome)).toBe(
      false,
    );
    expect(await eventsOf()).toHaveLength(1);
    expect(await service.database.query('SELECT FROM search_documents WHERE recording_id = $1', [id])).toEqual([]);
  });

  it('is given up after twenty attempts, and the text stays', async () => {
    await again().expect(202);
    await service.database.query(
      `UPDATE recordings SET attempt = 20, lease_token = gen_random_uuid(), lease_until = now() - interval '1 s'
       WHERE id = $1`,
      [id],
    );
    await service.app.get(RecordingLeasesService).failExhausted();
    expect(await rowOf()).toMatchObject({ status: 'transcribed', rerun: null, run: 2 });
    expect(await textOf()).toBe(FIRST.text);
  });

  it('cannot lose a lease to an outcome of a worker before (the table refuses it)', async () => {
    const held = service.database.query('UPDATE recordings SET lease_token = gen_random_uuid() WHERE id = $1', [id]);
    await expect(held).rejects.toThrow(/recordings_state_check/);
  });
});
