import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { garbage, silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
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

  it('is 404 with a code of its own while there is none, and the reason when it has failed (D23, D26)', async () => {
    const id = await upload(client);
    const expectNone = async (code: string, details: object): Promise<void> => {
      const answer = await client.get(of(id));
      expect(answer.status).toBe(404);
      const error = { code, message: expect.any(String), type: 'NotFoundError', details };
      expect(answer.body).toStrictEqual({ error });
      expectHeaders(answer);
    };
    await expectNone('TRANSCRIPTION_NOT_READY', {});
    await fail(service, id, 'The file contains no audio');
    await expectNone('TRANSCRIPTION_FAILED', { reason: 'The file contains no audio' });
    await client.post(`${RECORDINGS}/${id}/retry`).expect(202);
    await expectNone('TRANSCRIPTION_NOT_READY', {});
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

describe('a transcription in other forms (D42)', () => {
  const service = useService({ ROLES: 'api' });
  let client: ApiClient;
  let path: string;

  beforeAll(async () => {
    client = await service.account();
    const words = [
      { word: 'go', start: 0.46, end: 0.63, confidence: 0.97 },
      { word: 'forward', start: 0.63, end: 1.1, confidence: 0.9 },
      { word: 'now', start: 3.5, end: 3.9, confidence: null },
    ];
    const id = await upload(client);
    await transcribe(service, id, { text: 'Go forward. Now!', durationMs: 4000, words });
    path = of(id);
  });

  const SRT = '1\n00:00:00,460 --> 00:00:01,460\nGo forward.\n\n2\n00:00:03,500 --> 00:00:04,500\nNow!\n';
  const VTT = 'WEBVTT\n\n00:00:00.460 --> 00:00:01.460\nGo forward.\n\n00:00:03.500 --> 00:00:04.500\nNow!\n';

  it('is as asked, with its type and length', () =>
    checkRows<[format: string, type: string, expected: string]>(
      [
        ['text', 'text/plain; charset=utf-8', 'Go forward. Now!'],
        ['srt', 'application/x-subrip; charset=utf-8', SRT],
        ['vtt', 'text/vtt; charset=utf-8', VTT],
        ['paragraphs', 'text/plain; charset=utf-8', 'Go forward.\n\nNow!'],
      ],
      async (format, type, expected) => {
        const answer = await client.get(`${path}?format=${format}`).buffer(true).expect(200);
        expect(Buffer.isBuffer(answer.body) ? answer.body.toString() : answer.text).toBe(expected);
        expect(answer.headers).toMatchObject({
          'content-type': type,
          'content-length': String(Buffer.byteLength(expected)),
          vary: 'Accept',
          'transcription-version': 'original',
          'cache-control': 'no-store',
        });
        expectHeaders(answer);
      },
    ));

  it('asks the parameter before the header Accept, and names a value that it does not know', async () => {
    const typeOf = async (query: string, accept: string): Promise<string> =>
      (await client.get(`${path}${query}`).set('Accept', accept).expect(200)).headers['content-type'] as string;
    expect(await typeOf('', 'text/vtt;q=0.5, application/x-subrip;q=0.8, */*;q=0.1')).toMatch(/^application\/x-subrip/);
    expect(await typeOf('', 'application/xml')).toMatch(/^application\/json/);
    expect(await typeOf('?format=json', 'text/vtt')).toMatch(/^application\/json/);
    expectInvalid(await client.get(`${path}?format=docx`), 'format', /json, text, srt, vtt or paragraphs/);
    expectInvalid(await client.get(`${path}?format=srt&format=vtt`), 'format', /only once/);
    expectInvalid(await client.get(`${path}?version=2`), 'version', /current or original/);
    const { body } = await client.get(`${of(await upload(client))}?format=vtt`).expect(404);
    expect(body.error.code).toBe('TRANSCRIPTION_NOT_READY');
  });

  it('is 304 for the tag that it has, in each form its own, and sent for any other', async () => {
    const tags = await Promise.all(
      ['json', 'text', 'srt', 'vtt', 'paragraphs'].map(async (format) => {
        const { headers } = await client.get(`${path}?format=${format}`).expect(200);
        const tag = headers.etag as string;
        const same = await client.get(`${path}?format=${format}`).set('If-None-Match', `"x", W/${tag}`);
        expect([same.status, same.text, same.headers.etag]).toEqual([304, '', tag]);
        expectHeaders(same);
        return tag;
      }),
    );
    expect(new Set(tags).size).toBe(5);
    await client
      .get(`${path}?format=vtt`)
      .set('If-None-Match', tags[0] as string)
      .expect(200);
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

  it('fills a recording (D21, D22) and its transcription (D27)', async () => {
    const { body: created } = await client.upload('go-forward-ten-meters.webm').expect(201);
    const recording = await client.finished(created.id);

    const { code: _, ...single } = created;
    expect(recording).toStrictEqual({
      ...single,
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

  it('fails a recording in a language that it does not support, with the reason (D20, D26)', async () => {
    const { body: created } = await client.upload(silenceWav(1), { language: 'German' }).expect(201);
    const recording = await client.finished(created.id);

    expect(recording).toMatchObject({ status: 'failed', features: null });
    const { body } = await client.get(of(created.id)).expect(404);
    expect(body.error.details.reason).toMatch(/german/);
  });

  it('fails what only looks like audio, and a retry fails again with an event of its own (D21, D23, D29)', async () => {
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.failed'], secret }).expect(201);
    const { body: created } = await client.upload(garbage('wav', 7)).expect(201);
    const { id } = created;
    const failed = await client.finished(id);
    expect(failed).toMatchObject({ status: 'failed', features: null, duration_seconds: 0 });
    expect(failed.processed_at).toStrictEqual(SINGLE_RECORDING.updated_at);
    const { body: none } = await client.get(of(id)).expect(404);
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
