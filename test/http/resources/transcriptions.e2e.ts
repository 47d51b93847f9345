import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { AccountService } from '../../../src/modules/account/account.service.js';
import { garbage, type PretendedFormat, silenceWav } from '../../support/audio/audio-bytes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { useService } from '../../../src/testing/test-service.js';
import { FAILED_EVENT, FEATURES, SINGLE_RECORDING, TRANSCRIPTION, WORD } from '../../support/http/response-shapes.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';
import { signatureProblems, WebhookReceiver } from '../../../src/testing/webhook-receiver.js';

const RECORDINGS = '/v1/recordings';
const of = (id: string): string => `${RECORDINGS}/${id}/transcription`;

describe('a transcription', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api' });

  beforeEach(async () => {
    client = await service.account();
  });

  it('is 404 TRANSCRIPTION_NOT_READY while the recording is processing (D26)', async () => {
    const answer = await client.get(of(await upload(client)));

    expect(answer.status).toBe(404);
    const error = { code: 'TRANSCRIPTION_NOT_READY', message: expect.any(String), type: 'NotFoundError', details: {} };
    expect(answer.body).toStrictEqual({ error });
    expectHeaders(answer);
  });

  it('is 404 TRANSCRIPTION_FAILED with the reason when it has failed (D26)', async () => {
    const id = await upload(client);
    await fail(service, id, 'The file contains no audio');
    const answer = await client.get(of(id));

    expect(answer.status).toBe(404);
    const details = { reason: 'The file contains no audio' };
    const error = { code: 'TRANSCRIPTION_FAILED', message: expect.any(String), type: 'NotFoundError', details };
    expect(answer.body).toStrictEqual({ error });
    expectHeaders(answer);
  });

  it('is not ready again after a retry (D23, D26)', async () => {
    const id = await upload(client);
    await fail(service, id);
    await client.post(`${RECORDINGS}/${id}/retry`).expect(202);

    const { body } = await client.get(of(id)).expect(404);
    expect(body.error.code).toBe('TRANSCRIPTION_NOT_READY');
  });

  it('is shown with exactly the fields of its shape (2.5, D2, D27)', async () => {
    const id = await upload(client);
    await transcribe(service, id, { text: 'good morning', language: 'english' });
    const answer = await client.get(of(id)).expect(200);

    expect(answer.body).toStrictEqual({
      ...TRANSCRIPTION,
      recording_id: id,
      tenant_id: client.accountId,
      text: 'good morning',
      confidence: 0.9,
      language: 'english',
      words: '[{"word":"good","start":0,"end":0.1,"confidence":0.9}]',
      uri: of(id),
    });
    expectHeaders(answer);
    expectInvalid(await client.get(`${of(id)}?formt=srt`), 'formt');
  });

  it('keeps any text, in any script and of any length (D27)', async () => {
    const id = await upload(client);
    const text = `„Grüß Gott“, said 王さん 🎙 — ${'und so weiter '.repeat(10_000)}`;
    await transcribe(service, id, { text });

    expect((await client.get(of(id)).expect(200)).body.text).toBe(text);
  });

  it('of a recording without speech is empty, and no error (D23)', async () => {
    const id = await upload(client);
    await transcribe(service, id, { text: '', noSpeech: true });

    const { body } = await client.get(of(id)).expect(200);
    expect(body).toMatchObject({ text: '', confidence: 0, words: '[]' });
  });
});

describe('the real engine', () => {
  let client: ApiClient;
  let receiver: WebhookReceiver;
  const secret = 'a secret that signs deliveries';

  const service = useService();
  const { environment } = service;

  beforeAll(async () => {
    receiver = await WebhookReceiver.listen();
  });

  afterAll(async () => {
    await receiver.close();
  });

  beforeEach(async () => {
    client = await service.account();
  });

  const eventsOf = (id: string) => receiver.requests.filter(({ body }) => body.toString().includes(id));

  it.each([
    ['wav', { sample_rate: 16_000, audio_codec: 'pcm_s16le', bit_rate: 256_000 }],
    ['mp3', { sample_rate: 44_100, audio_codec: 'mp3', bit_rate: 64_000 }],
    ['ogg', { sample_rate: 48_000, audio_codec: 'opus', bit_rate: expect.any(Number) }],
    ['webm', { sample_rate: 48_000, audio_codec: 'opus' }],
  ])('fills a recording in %s (D21, D22) and its transcription (D27)', async (format, facts) => {
    const { body: created } = await client.upload(`go-forward-ten-meters.${format}`).expect(201);
    const recording = await client.finished(created.id);

    const { code: _, ...single } = created;
    expect(recording).toStrictEqual({
      ...single,
      ...facts,
      status: 'transcribed',
      duration_seconds: expect.any(Number),
      features: FEATURES,
      updated_at: SINGLE_RECORDING.updated_at,
      processed_at: SINGLE_RECORDING.updated_at,
    });
    const seconds = recording.duration_seconds as number;
    expect(Math.abs(seconds - 2.786)).toBeLessThan(0.05);
    const { speech_seconds: speech, no_speech: silent } = recording.features as Record<string, number>;
    expect([silent, (speech as number) > 0.5, (speech as number) <= seconds]).toEqual([false, true, true]);

    const { body } = await client.get(of(created.id)).expect(200);
    expect(body).toStrictEqual({
      ...TRANSCRIPTION,
      recording_id: created.id,
      text: 'go forward ten meters',
      language: 'english',
      provider: 'pocketsphinx',
      model: 'en-us',
    });
    expect(body.processing_duration_ms).toBeGreaterThan(0);
    const words = JSON.parse(body.words) as { word: string; start: number; end: number }[];
    expect(words).toStrictEqual(body.text.split(' ').map((word: string) => ({ ...WORD, word })));
    const times = words.flatMap(({ start, end }) => [start, end]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThanOrEqual(seconds);
  });

  it('of silence has an empty text and no words (D23)', async () => {
    const { body: created } = await client.upload(silenceWav(2), { language: 'english' }).expect(201);
    const recording = await client.finished(created.id);

    expect(recording).toMatchObject({
      status: 'transcribed',
      duration_seconds: 2,
      features: { speech_seconds: 0, no_speech: true },
    });
    const { body } = await client.get(of(created.id)).expect(200);
    expect(body).toMatchObject({ text: '', words: '[]', confidence: 0, language: 'english' });
  });

  it('fails a recording in a language that it does not support, with the reason (D20, D26)', async () => {
    const { body: created } = await client.upload(silenceWav(1), { language: 'German' }).expect(201);
    const recording = await client.finished(created.id);

    expect(recording).toMatchObject({ status: 'failed', features: null });
    const { body } = await client.get(of(created.id)).expect(404);
    expect(body.error.details.reason).toMatch(/german/);
  });

  it.each<PretendedFormat>(['wav', 'mp3', 'ogg', 'webm'])(
    'fails what only looks like %s, and a retry fails again with an event of its own (D21, D23, D29)',
    async (format) => {
      await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.failed'], secret }).expect(201);
      const { body: created } = await client.upload(garbage(format, 7)).expect(201);
      const { id } = created;
      const failed = await client.finished(id);
      expect(failed).toMatchObject({ status: 'failed', features: null, duration_seconds: 0 });
      expect(failed.processed_at).toStrictEqual(SINGLE_RECORDING.updated_at);
      const { body: none } = await client.get(of(id)).expect(404);
      expect(none.error).toMatchObject({
        code: 'TRANSCRIPTION_FAILED',
        details: { reason: expect.stringMatching(/\w/) },
      });
      await receiver.waitFor(() => eventsOf(id).length === 1);

      const { body: retried } = await client.post(`${RECORDINGS}/${id}/retry`).expect(202);
      expect(retried).toMatchObject({ status: 'processing', processed_at: null, features: null });
      expect((await client.finished(id)).status).toBe('failed');
      await receiver.waitFor(() => eventsOf(id).length === 2);

      const [first, second] = eventsOf(id);
      expect(first?.headers['x-service-event-id']).not.toBe(second?.headers['x-service-event-id']);
      for (const event of eventsOf(id)) {
        expect(signatureProblems(event, secret)).toEqual([]);
        expect(JSON.parse(event.body.toString())).toStrictEqual({
          ...FAILED_EVENT,
          recording: { ...FAILED_EVENT.recording, id },
          error: { code: 'TRANSCRIPTION_FAILED', message: none.error.details.reason },
        });
      }
    },
  );

  it('still processes what a suspended account had sent where the operator lets its queue finish (D4)', async () => {
    const { body: created } = await client.upload(silenceWav(0.5)).expect(201);
    await service.app.get(AccountService).update(client.accountId, { status: 'suspended', finishQueue: true });
    await eventually(async () => {
      const [row] = await service.database.query<{ status: string }>('SELECT status FROM recordings WHERE id = $1', [
        created.id,
      ]);
      return row?.status === 'transcribed';
    });

    await client.get(of(created.id)).expect(403);
  });

  it('throws its work away when the recording is deleted meanwhile, and no event follows (D24)', async () => {
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'], secret }).expect(201);
    const { body: doomed } = await client.upload('jfk.wav').expect(201);
    await eventually(async () => {
      const [row] = await service.database.query<{ lease_token: string | null }>(
        'SELECT lease_token FROM recordings WHERE id = $1',
        [doomed.id],
      );
      return row?.lease_token;
    });
    await client.delete(doomed.uri).expect(204);
    const { body: next } = await client.upload(silenceWav(0.5)).expect(201);
    expect((await client.finished(next.id)).status).toBe('transcribed');
    await receiver.waitFor(() => eventsOf(next.id).length === 1);

    const kept = await service.database.query<{ kind: string }>(
      'SELECT kind FROM events WHERE recording_id = $1 ORDER BY position',
      [doomed.id],
    );
    expect(kept.map(({ kind }) => kind)).toEqual(['recording.accepted', 'recording.deleted']);
    expect(eventsOf(doomed.id)).toEqual([]);
    const object = join(environment.variables.STORAGE_DIR as string, 'objects', doomed.s3_key);
    await eventually(() =>
      access(object).then(
        () => false,
        () => true,
      ),
    );
  });
});
