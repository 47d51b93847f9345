import { silenceWav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { call, NAMED_OPERATIONS, createResources, ROUTES, SharedResources } from '../support/http/operations.js';
import { routesOf } from '../support/http/routes.js';
import { useService } from '../../src/testing/test-service.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import * as shapes from '../support/http/response-shapes.js';
import { fail, transcribe, upload } from '../support/state/recording-states.js';

const keysOf = (value: unknown): string[] => Object.keys(value as object).toSorted();

describe('the contract: exactly these keys (D3)', () => {
  let client: ApiClient;
  let resources: SharedResources;

  const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });

  beforeAll(async () => {
    resources = new SharedResources(service, await service.account());
  });

  beforeEach(async () => {
    client = await service.account();
  });

  it('is defined for every operation that the application routes', () => {
    expect(ROUTES).toEqual(routesOf(service.app).toSorted());
  });

  it.each(NAMED_OPERATIONS)('%s', async (_, operation) => {
    const { owner, ids } = await resources.forSuccess(operation);
    const answer = await call(owner, operation, ids).expect(operation.success);

    if (operation.type) {
      expect(answer.headers['content-type']).toBe(operation.type);
      return;
    }
    expect(keysOf(answer.body)).toEqual(keysOf(operation.shape));
    if (operation.success === 204) expect(answer.text).toBe('');
    else {
      const type = operation.isStream ? 'text/event-stream' : 'application/json';
      expect(answer.headers['content-type']).toBe(`${type}; charset=utf-8`);
    }
  });

  it.each([
    ['/v1/account/api-keys', 'api_keys', shapes.API_KEY],
    ['/v1/webhooks', 'webhooks', shapes.WEBHOOK],
    ['/v1/recordings', 'recordings', shapes.RECORDING],
  ])('items of %s', async (path, collection, shape) => {
    await createResources(service, client, {});
    const { body } = await client.get(path).expect(200);

    expect(body[collection].length).toBeGreaterThan(0);
    for (const item of body[collection]) expect(keysOf(item)).toEqual(keysOf(shape));
  });

  it('usage of an account', async () => {
    const { body } = await client.get('/v1/account').expect(200);

    expect(keysOf(body.usage)).toEqual(keysOf(shapes.USAGE));
    for (const period of Object.values(body.usage)) expect(keysOf(period)).toEqual(keysOf(shapes.USAGE.current_month));
  });

  it('a recording in every state, and what it holds', async () => {
    const id = await upload(client);
    const single = async () => (await client.get(`/v1/recordings/${id}`).expect(200)).body;
    const expected = keysOf(shapes.SINGLE_RECORDING);

    expect(keysOf(await single())).toEqual(expected);
    await fail(service, id);
    expect(keysOf(await single())).toEqual(expected);
    await client.post(`/v1/recordings/${id}/retry`).expect(202);
    await transcribe(service, id);
    const recording = await single();
    expect(keysOf(recording)).toEqual(expected);
    expect(keysOf(recording.features)).toEqual(keysOf(shapes.FEATURES));
    expect(keysOf(recording.subresource_uris)).toEqual(['transcription']);
  });

  it('a replayed upload', async () => {
    const again = () => client.upload(silenceWav(0.1)).set('Idempotency-Key', 'k').expect(201);
    await again();
    const { body } = await again();

    expect(keysOf(body)).toEqual(keysOf(shapes.CREATED_RECORDING));
  });

  it('words of a transcription', async () => {
    const id = await upload(client);
    await transcribe(service, id);
    const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);

    for (const word of JSON.parse(body.words))
      expect(Object.keys(word)).toEqual(['word', 'start', 'end', 'confidence']);
  });

  const withUris = NAMED_OPERATIONS.filter(
    ([, { success, isStream, type, isCompatible }]) => success !== 204 && !isStream && !type && !isCompatible,
  );

  it.each(withUris)('every uri in %s leads somewhere (2)', async (_, operation) => {
    const { owner, ids } = await resources.forSuccess(operation);
    const { text, body } = await call(owner, operation, ids).expect(operation.success);

    const uris = [...text.matchAll(/"(?:uri|\w+_uri)":"([^"]+)"/g)].map(([, uri]) => uri as string);
    // An access token is no resource, and neither are a URL, an erased user and a vocabulary.
    const isResource = !['expires_at', 'complete', 'vocabulary'].some((key) => key in body);
    if ('uri' in body || isResource) expect(uris.length).toBeGreaterThan(0);
    for (const uri of uris) await owner.get(uri).expect(200);
  });

  describe('events, their keys in this order (6, D29)', () => {
    /** The bytes that every webhook gets. */
    async function eventOf(id: string): Promise<string> {
      const rows = await service.database.query<{ body: string }>(
        `SELECT body FROM events WHERE recording_id = $1 AND kind NOT IN ('recording.accepted', 'recording.deleted')`,
        [id],
      );
      expect(rows).toHaveLength(1);
      return rows[0]?.body ?? '';
    }
    const order = (text: string): string => JSON.stringify(JSON.parse(text));

    it('recording.transcribed', async () => {
      const id = await upload(client);
      await transcribe(service, id, { durationMs: 2500 });
      const text = await eventOf(id);
      const event = JSON.parse(text);

      expect(event).toStrictEqual({
        ...shapes.TRANSCRIBED_EVENT,
        recording: { ...shapes.TRANSCRIBED_EVENT.recording, id, duration: 2.5, format: 'wav', identity: null },
      });
      expect(Object.keys(event)).toEqual(['event', 'timestamp', 'recording']);
      expect(Object.keys(event.recording)).toEqual(
        'id status duration format identity created_at completed_at'.split(' '),
      );
      expect(text).toBe(order(text));
    });

    it('recording.failed', async () => {
      const id = await upload(client);
      await fail(service, id, 'It “cannot” be decoded\n');
      const text = await eventOf(id);
      const event = JSON.parse(text);

      expect(event).toStrictEqual({
        ...shapes.FAILED_EVENT,
        recording: { ...shapes.FAILED_EVENT.recording, id, identity: null },
        error: { code: 'TRANSCRIPTION_FAILED', message: 'It “cannot” be decoded\n' },
      });
      expect(Object.keys(event)).toEqual(['event', 'timestamp', 'recording', 'error']);
      expect(Object.keys(event.recording)).toEqual(['id', 'status', 'identity', 'created_at']);
      expect(Object.keys(event.error)).toEqual(['code', 'message']);
      expect(text).toBe(order(text));
    });

    it.each([
      ['transcribed', transcribe],
      ['failed', fail],
    ] as const)('custom_tags stand last in the recording of an event, as they were sent: %s', async (_, end) => {
      const tags = '{"b":"1","7":"é","__proto__":"x"}';
      const id = await upload(client, { custom_tags: tags });
      await end(service, id);

      expect(await eventOf(id)).toContain(`,"custom_tags":${tags}}`);
    });

    it('are about the recording as it is shown: same times, same identity', async () => {
      const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'user-42' }).expect(201);
      const { body } = await client.upload(silenceWav(0.1)).set('Authorization', `Bearer ${token.token}`).expect(201);
      await transcribe(service, body.id);
      const { body: recording } = await client.get(body.uri).expect(200);

      const event = JSON.parse(await eventOf(body.id));
      expect(event.timestamp).toBe(`${recording.processed_at}Z`);
      expect(event.recording).toMatchObject({
        identity: 'user-42',
        created_at: `${recording.created_at}Z`,
        completed_at: `${recording.processed_at}Z`,
        duration: recording.duration_seconds,
      });
    });
  });
});
