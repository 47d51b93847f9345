import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { type ReceivedRequest, signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import type { PartOfText } from '../../src/modules/recordings/recordings.events.js';
import { longRecording } from '../support/audio/long-recording.js';
import { garbage, silenceWav } from '../support/audio/audio-bytes.js';
import {
  CORRECTED_EVENT,
  FAILED_EVENT,
  FEATURES,
  SINGLE_RECORDING,
  TRANSCRIPTION,
  WORD,
} from '../support/http/response-shapes.js';

describe('a voice note goes in, its text comes out, and a signed event arrives', () => {
  const secret = 'a secret that signs deliveries';
  let client: ApiClient;
  let receiver: WebhookReceiver;

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

  const of = (id: string): string => `/v1/recordings/${id}/transcription`;
  const eventsOf = (id: string) => receiver.requests.filter(({ body }) => body.toString().includes(id));

  it('transcribes each format and says so to the webhook', async () => {
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'], secret }).expect(201);
    await Promise.all(
      ['wav', 'webm', 'ogg', 'mp3'].map(async (format) => {
        const name = `go-forward-ten-meters.${format}`;
        const { body: recording } = await client.upload(name, { custom_tags: '{"b":"1","1":"b"}' }).expect(201);
        await client.finished(recording.id);

        const { body: transcription } = await client.get(of(recording.id)).expect(200);
        expect([format, transcription.text]).toEqual([format, 'go forward ten meters']);
        await receiver.waitFor(() => eventsOf(recording.id).length > 0);
        expect(signatureProblems(eventsOf(recording.id)[0] as ReceivedRequest, secret)).toEqual([]);
      }),
    );
  });

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

    const { body: retried } = await client.post(`/v1/recordings/${id}/retry`).expect(202);
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

  it('sends a long text in parts as they are done, to who asked for them by name (D77)', async () => {
    const subscribe = (path: string, events: string[]) =>
      client.post('/v1/webhooks', { url: receiver.url(path), events }).expect(201);
    await subscribe('/parts', ['recording.partial']);
    await subscribe('/others', ['recording.transcribed']);
    const { body } = await client.upload(await longRecording(4)).expect(201);
    const recording = await client.finished(body.id);
    expect(recording.status).toBe('transcribed');
    const { body: transcription } = await client.get(of(body.id)).expect(200);
    const { body: feed } = await client.get('/v1/events?limit=100').expect(200);
    const events = feed.events as { event: string; body: { partial: PartOfText } }[];
    const kinds = events.map(({ event }) => event);
    const parts = events.filter(({ event }) => event === 'recording.partial').map((event) => event.body.partial);
    expect(parts.length).toBeGreaterThan(1);
    expect(kinds).toEqual(['recording.accepted', ...parts.map(() => 'recording.partial'), 'recording.transcribed']);
    expect(parts.map(({ index }) => index)).toEqual(parts.map((_, i) => i));
    expect(parts.map(({ text }) => text).join(' ')).toBe(transcription.text);
    expect(parts.every(({ start, end }, i) => start >= (parts[i - 1]?.end ?? 0) && end > start)).toBe(true);
    await receiver.waitFor(() => eventsOf(body.id).length === parts.length + 1);
    const at = (path: string) => eventsOf(body.id).filter((sent) => sent.path === path);
    expect([at('/parts').length, at('/others').length]).toEqual([parts.length, 1]);
  });

  it('sends a corrected text to the webhook that subscribes to transcription.corrected, and to no other (D44)', async () => {
    const subscribe = (path: string, events: string[]) =>
      client.post('/v1/webhooks', { url: receiver.url(path), events }).expect(201);
    await subscribe('/corrected', ['transcription.corrected']);
    await subscribe('/others', ['recording.transcribed', 'recording.failed']);
    const { body } = await client.upload(silenceWav(0.5)).expect(201);
    const id = body.id as string;
    await client.finished(id);
    await client.put(of(id), { text: 'Go forward ten metres.' }).expect(200);

    await receiver.waitFor(() => eventsOf(id).length === 2);
    const corrected = eventsOf(id).find(({ path }) => path === '/corrected');
    expect(JSON.parse(corrected?.body.toString() ?? '')).toStrictEqual({
      ...CORRECTED_EVENT,
      recording: { ...CORRECTED_EVENT.recording, id },
    });
    const kinds = eventsOf(id).map(({ path, body: sent }) => `${path} ${JSON.parse(sent.toString()).event}`);
    expect(new Set(kinds)).toEqual(new Set(['/corrected transcription.corrected', '/others recording.transcribed']));
  });
});
