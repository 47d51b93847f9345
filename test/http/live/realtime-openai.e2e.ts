import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import OpenAI from 'openai';
import { OpenAIRealtimeWS as BetaRealtimeWS } from 'openai/beta/realtime/ws';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { LiveSignalsService } from '../../../src/modules/live/live-signals.service.js';
import type { LiveSignal } from '../../../src/modules/live/live-signals.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { SPEECH } from '../../../src/testing/speech.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { LiveClient } from '../../support/http/clients/live-client.js';
import { FIXTURES } from '../../support/paths.js';

type Event = { type: string } & Record<string, unknown>;

const pem = (name: string): Buffer => readFileSync(join(FIXTURES, 'tls', name));
/** A tenth of a second at 24 kHz. */
const PIECE = Buffer.alloc(4800, 1).toString('base64');
const APPEND = { type: 'input_audio_buffer.append', audio: PIECE } as const;
const TLS = { rejectUnauthorized: false };

const service = useService({ ROLES: 'api' });
let owner: ApiClient;
let proxy: Server;
let client: OpenAI;

beforeAll(async () => {
  owner = await service.account();
  // The client insists on TLS, which a proxy speaks in front of the service.
  proxy = createServer({ key: pem('key.pem'), cert: pem('certificate.pem') }, (outer) => {
    const inner = connect(Number(new URL(service.url).port), '127.0.0.1');
    for (const socket of [inner, outer]) socket.on('error', () => undefined);
    outer.pipe(inner).pipe(outer);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const { port } = proxy.address() as AddressInfo;
  const { key, secret } = owner.credentials;
  client = new OpenAI({ baseURL: `https://127.0.0.1:${port}/v1`, apiKey: `${key}.${secret}` });
});
afterEach(() => LiveClient.closeAll());
afterAll(() => proxy.close());

const publish = (id: string, ...signals: LiveSignal[]): void => {
  for (const signal of signals) service.app.get(LiveSignalsService).publishWords(id, signal);
};

/** All that a connection of the official client tells of. */
function eventsOf(live: Pick<OpenAIRealtimeWS, 'on'> | Pick<BetaRealtimeWS, 'on'>): Event[] {
  const events: Event[] = [];
  (live as OpenAIRealtimeWS).on('event', (event) => events.push(event as unknown as Event));
  (live as OpenAIRealtimeWS).on('error', () => undefined);
  return events;
}

const next = (events: Event[], type: string): Promise<Event> =>
  eventually(() => events.find((event) => event.type === type));
const DELTA = 'conversation.item.input_audio_transcription.delta';
const COMPLETED = 'conversation.item.input_audio_transcription.completed';
const wordsOf = (text: unknown): string[] => String(text).trim().split(/\s+/).filter(Boolean);
const typesOf = (events: Event[]): string[] => events.map(({ type }) => type);

/** Behind a 44 byte header. */
const samplesOf = (name: string): Buffer => readFileSync(join(SPEECH, name)).subarray(44);

describe('the realtime client of the openai package', () => {
  it('gets deltas and completed texts, and its recording', async () => {
    const live = new OpenAIRealtimeWS({ intent: 'transcription', options: TLS }, client);
    const events = eventsOf(live);
    await next(events, 'session.created');
    const transcription = { model: 'gpt-4o-transcribe', language: 'de', prompt: 'Grafana, Zoë' };
    live.send({ type: 'session.update', session: { type: 'transcription', audio: { input: { transcription } } } });
    expect(await next(events, 'session.updated')).toMatchObject({
      session: {
        type: 'transcription',
        audio: { input: { format: { type: 'audio/pcm', rate: 24_000 }, transcription } },
      },
    });
    for (let i = 0; i < 10; i++) live.send(APPEND);
    const { recording_id: id } = (await next(events, 'recording.started')) as unknown as { recording_id: string };
    await eventually(() => events.find(({ type, bytes }) => type === 'recording.audio_stored' && bytes === 48_000));
    expect(events.at(-1)).toMatchObject({ bytes: 48_000, seconds: 1 });
    const sql = 'SELECT language, vocabulary FROM recordings WHERE id = $1';
    expect(await service.database.query(sql, [id])).toEqual([{ language: 'german', vocabulary: ['Grafana', 'Zoë'] }]);

    publish(
      id,
      { type: 'speech_started', item: 0, at: 0.1 },
      { type: 'delta', item: 0, offset: 0, text: 'guten', words: [] },
      { type: 'delta', item: 0, offset: 5, text: ' morgen', words: [] },
      { type: 'speech_stopped', item: 0, at: 0.9 },
      { type: 'final', item: 0, text: 'guten morgen zoë', start: 0.1, end: 0.9 },
    );
    const completed = await next(events, 'conversation.item.input_audio_transcription.completed');
    expect(completed).toMatchObject({ transcript: 'guten morgen zoë', usage: { type: 'duration', seconds: 1 } });
    const deltas = events.filter(({ type }) => type.endsWith('.delta'));
    expect(deltas.map(({ delta }) => delta).join('')).toBe('guten morgen zoë');
    expect(new Set(deltas.map(({ item_id: item }) => item))).toEqual(new Set([completed.item_id]));
    expect(typesOf(events).filter((type) => !type.startsWith('recording.') && !type.endsWith('.delta'))).toEqual([
      'session.created',
      'session.updated',
      'input_audio_buffer.speech_started',
      'input_audio_buffer.speech_stopped',
      'input_audio_buffer.committed',
      'conversation.item.added',
      'conversation.item.done',
      'conversation.item.input_audio_transcription.completed',
    ]);

    live.close();
    await eventually(async () => {
      const rows = await service.database.query<{ reason: string }>(
        'SELECT end_reason AS reason FROM live_recordings WHERE recording_id = $1',
        [id],
      );
      return rows[0]?.reason === 'finished';
    });
  });

  it('is told what is wrong, by the id of its event, and goes on', async () => {
    const live = new OpenAIRealtimeWS({ intent: 'transcription', options: TLS }, client);
    const events = eventsOf(live);
    const errors: { param?: string | null; event_id?: string | null }[] = [];
    live.on('error', ({ error }) => errors.push(error ?? {}));
    await next(events, 'session.created');
    live.send({ type: 'response.create', event_id: 'one' });
    live.send({ type: 'input_audio_buffer.append', audio: 'no base64', event_id: 'two' });
    live.send({ type: 'session.update', session: { type: 'realtime' }, event_id: 'three' });
    await eventually(() => errors.length === 3);
    expect(errors.map(({ param, event_id: id }) => [id, param])).toEqual([
      ['one', 'type'],
      ['two', 'audio'],
      ['three', 'session.type'],
    ]);
    live.send(APPEND);
    await next(events, 'recording.audio_stored');
    live.close();
  });

  it('speaks the beta of the protocol', async () => {
    const live = new BetaRealtimeWS({ model: 'gpt-4o-transcribe', options: TLS }, client);
    const events = eventsOf(live);
    await next(events, 'transcription_session.created');
    const session = { input_audio_format: 'pcm16', input_audio_transcription: { language: 'en' } };
    live.socket.send(JSON.stringify({ type: 'transcription_session.update', session }));
    await next(events, 'transcription_session.updated');
    live.send(APPEND);
    const { recording_id: id } = (await next(events, 'recording.started')) as unknown as { recording_id: string };
    publish(id, { type: 'final', item: 0, text: 'hello', start: 0, end: 0.1 });
    await next(events, 'conversation.item.input_audio_transcription.completed');
    expect(typesOf(events)).toContain('conversation.item.created');
    live.close();
  });

  it('goes on with a recording after its connection broke', async () => {
    const live = await LiveClient.open(service.url, '?intent=transcription', { headers: owner.headers });
    live.send(APPEND);
    const { recording_id: id } = await live.next('recording.started');
    await live.next('recording.audio_stored');
    live.socket.terminate();
    const again = await LiveClient.open(service.url, `?intent=transcription&recording=${String(id)}`, {
      headers: owner.headers,
    });
    expect(await again.next('recording.resumed')).toMatchObject({ recording_id: id, stored_bytes: 4800 });
    again.send(APPEND);
    expect(await again.next('recording.audio_stored')).toMatchObject({ bytes: 9600, seconds: 0.2 });
    again.send({ type: 'recording.finish' });
    publish(String(id), { type: 'finished' });
    await again.next('recording.ended', ({ reason }) => reason === 'finished');
    expect(await again.end()).toMatchObject({ code: 1000 });
  });

  it('gets the words of real speech while it is sent, from the engine of the service', async () => {
    const worker = await startService(service.environment, { ROLES: 'worker' });
    const live = new OpenAIRealtimeWS({ intent: 'transcription', options: TLS }, client);
    const events = eventsOf(live);
    await next(events, 'session.created');
    const input = { format: { type: 'audio/pcm', rate: 16_000 }, transcription: { language: 'en', speakers: 2 } };
    const session = { type: 'transcription', audio: { input }, custom_tags: { ticket: 'T-7' } };
    live.socket.send(JSON.stringify({ type: 'session.update', session }));
    const samples = samplesOf('ss-0880.wav');
    for (let at = 0; at < samples.length; at += 3200) {
      live.send({ type: 'input_audio_buffer.append', audio: samples.subarray(at, at + 3200).toString('base64') });
    }
    const deltas = () => events.filter(({ type }) => type === DELTA);
    await eventually(() => deltas().length >= 3);
    // The client has not ended: all that follows is behind these.
    const early = deltas();
    live.socket.send(JSON.stringify({ type: 'recording.finish' }));
    const { recording_id: id } = await next(events, 'recording.ended');
    const texts = events.filter(({ type }) => type === COMPLETED);
    expect(texts.length).toBeGreaterThan(0);
    for (const { item_id: item, transcript } of texts) {
      const words = wordsOf(transcript);
      const before = wordsOf(
        deltas()
          .filter(({ item_id: of }) => of === item)
          .map(({ delta }) => delta)
          .join(''),
      );
      // The end of an utterance may make other words of some that were sent.
      expect(before.filter((word) => words.includes(word)).length).toBeGreaterThanOrEqual(before.length * 0.7);
    }
    const said = wordsOf(texts.map(({ transcript }) => transcript).join(' '));
    expect(said.length).toBeGreaterThan(3);
    const heard = wordsOf(early.map(({ delta }) => delta).join(' '));
    expect(heard.filter((word) => said.includes(word)).length).toBeGreaterThanOrEqual(2);

    const recording = await owner.finished(String(id));
    expect(recording).toMatchObject({
      status: 'transcribed',
      audio_format: 'wav',
      custom_tags: { ticket: 'T-7' },
      // Asked for, and there is no model here.
      features: { speakers: null, speakers_problem: expect.any(String) },
    });
    const { body } = await owner
      .get(`/v1/recordings/${String(id)}/audio`)
      .buffer(true)
      .expect(200);
    expect((body as Buffer).subarray(44).equals(samples)).toBe(true);
    await worker.close();
  });
});
