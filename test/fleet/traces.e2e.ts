import { writeFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import type { ApiClient } from '../../src/testing/api-client.js';
import { traceIdOf } from '../../src/platform/observability/traces/work-ids.js';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { hostedServices, uniqueMarker } from '../support/servers/external-services.js';
import { drawTrace } from '../support/servers/draw-trace.js';
import { OtlpReceiver, type ReceivedSpan } from '../support/servers/otlp-receiver.js';
import { newAccount, ServiceProcess } from '../support/service/service-process.js';

jest.setTimeout(240_000);

const ROLES = ['api', 'transcriber', 'deliverer'] as const;
type Role = (typeof ROLES)[number];
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('traces of a fleet, one process for each role', () => {
  /** What no span may have, by what it is. */
  const secrets: Record<string, string> = {
    'the value of a tag': uniqueMarker('diagnosis'),
    'the name of a tag': uniqueMarker('tag'),
    'a title': uniqueMarker('title'),
    'a file name': uniqueMarker('diary'),
    'an identity': uniqueMarker('user'),
    'the path of a webhook': uniqueMarker('path'),
    'the query of a webhook': uniqueMarker('query'),
    'the secret of a webhook': uniqueMarker('whsec'),
    'the key of the engine': uniqueMarker('sk'),
    'the name of the key of S3': uniqueMarker('s3-id'),
    'the key of S3': uniqueMarker('s3'),
    'a word of the vocabulary': uniqueMarker('word'),
    'a correction': uniqueMarker('corrected'),
    'what is searched': uniqueMarker('search'),
    'the answer of a receiver': uniqueMarker('answer'),
    'the header for the collector': uniqueMarker('collector'),
  };
  const secret = (name: string): string => secrets[name] as string;

  const environment = useEnvironment();
  const processes = {} as Record<Role, ServiceProcess>;
  let collector: OtlpReceiver;
  let receiver: WebhookReceiver;
  let database: Client;
  let client: ApiClient;
  let webhookId: string;
  let variables: Record<string, string>;

  beforeAll(async () => {
    collector = await OtlpReceiver.listen();
    environment.defer(() => collector.close());
    receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    database = new Client({ connectionString: environment.variables.DATABASE_URL });
    await database.connect();
    environment.defer(() => database.end());
    const hosted = await hostedServices(secret('the key of the engine'));
    environment.defer(() => hosted.close());
    secrets['a transcript'] = hosted.text as string;
    variables = {
      ...hosted.environment,
      OPENAI_API_KEY: secret('the key of the engine'),
      S3_ACCESS_KEY_ID: secret('the name of the key of S3'),
      S3_SECRET_ACCESS_KEY: secret('the key of S3'),
      WEBHOOK_RETRY_SCHEDULE: '1,1',
      LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${secret('the header for the collector')}`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    };
    for (const role of ROLES) await start(role);
    client = await newAccount(environment, processes.api.url, '--plan', 'enterprise');
    const url = receiver.url(`/${secret('the path of a webhook')}?token=${secret('the query of a webhook')}`);
    const made = await client.post('/v1/webhooks', {
      url,
      events: ['recording.transcribed', 'recording.failed', 'transcription.corrected'],
      secret: `whsec_${Buffer.from(secret('the secret of a webhook')).toString('base64')}`,
    });
    expect(made.status).toBe(201);
    webhookId = made.body.id;
  });

  async function start(role: Role): Promise<void> {
    processes[role] = await ServiceProcess.start(environment, role, {
      ...variables,
      OTEL_SERVICE_NAME: `notes-${role}`,
    });
  }

  /** @returns its id, once its delivery was accepted. */
  async function uploadOne(headers: Record<string, string> = {}): Promise<string> {
    const fields = {
      custom_tags: JSON.stringify({ [secret('the name of a tag')]: secret('the value of a tag') }),
      title: secret('a title'),
      vocabulary: JSON.stringify([secret('a word of the vocabulary')]),
    };
    const before = receiver.requests.length;
    const upload = client.upload('go-forward-ten-meters.wav', fields, `${secret('a file name')}.wav`);
    const { body } = await upload.set(headers).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    await receiver.waitFor((requests) => requests.length > before);
    return body.id;
  }

  const traceOf = (recordingId: string): string => recordingId.replaceAll('-', '');

  /** @returns the spans of the trace of a recording, once those of that name are there. */
  async function spansOf(recordingId: string, name = 'deliver', count = 1): Promise<ReceivedSpan[]> {
    return await eventually(() => {
      const spans = collector.ofTrace(traceOf(recordingId));
      return spans.filter((span) => span.name === name).length >= count && spans;
    }, 60_000);
  }

  const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
    const found = spans.filter((span) => span.name === name);
    expect({ name, spans: found.length }).toEqual({ name, spans: 1 });
    return found[0] as ReceivedSpan;
  };

  /** As `name@service`, from a span up to the first of its trace. */
  function ancestry(spans: readonly ReceivedSpan[], span: ReceivedSpan): string[] {
    const parent = spans.find(({ spanId }) => spanId === span.parentId);
    const own = `${span.name}@${String(span.resource['service.name'])}`;
    return parent ? [own, ...ancestry(spans, parent)] : [own];
  }

  it('makes one trace from the upload to the delivery over three processes', async () => {
    const id = await uploadOne();
    const spans = await spansOf(id);
    const root = named(spans, 'POST /v1/recordings');
    expect(root).toMatchObject({ kind: 'server', parentId: '', traceId: traceOf(id), isFailed: false });
    expect(spans.filter(({ parentId }) => parentId === '')).toEqual([root]);
    const ids = new Set(spans.map(({ spanId }) => spanId));
    expect(ids.size).toBe(spans.length);
    expect(spans.filter(({ parentId }) => parentId !== '' && !ids.has(parentId))).toEqual([]);

    const api = 'POST /v1/recordings@notes-api';
    const enqueued = ['enqueue transcription@notes-api', 'commit@notes-api', api];
    const transcribed = ['transcribe@notes-transcriber', ...enqueued];
    const committed = ['commit@notes-transcriber', ...transcribed];
    const expected: [name: string, service: string, above: string[]][] = [
      ['receive', 'notes-api', [api]],
      ['store', 'notes-api', [api]],
      ['commit', 'notes-api', [api]],
      ['enqueue transcription', 'notes-api', enqueued.slice(1)],
      ['transcribe', 'notes-transcriber', enqueued],
      ['engine', 'notes-transcriber', transcribed],
      ['decode', 'notes-transcriber', ['engine@notes-transcriber', ...transcribed]],
      ['chunk', 'notes-transcriber', ['engine@notes-transcriber', ...transcribed]],
      ['commit', 'notes-transcriber', transcribed],
      ['publish event', 'notes-transcriber', committed],
      ['deliver', 'notes-deliverer', ['publish event@notes-transcriber', ...committed]],
    ];
    for (const [name, service, above] of expected) {
      const span = spans.filter((each) => each.name === name && each.resource['service.name'] === service);
      expect({ name, service, above: span.map((each) => ancestry(spans, each).slice(1)) }).toEqual({
        name,
        service,
        above: [above],
      });
    }
    // The picture of docs/operations.md: TRACE_PICTURE=docs/images/trace.svg
    const { TRACE_PICTURE } = process.env;
    if (TRACE_PICTURE) await writeFile(TRACE_PICTURE, drawTrace(spans));
  });

  it('has the spans of pg, ioredis and undici, each below the step that it belongs to', async () => {
    const spans = await spansOf(await uploadOne());
    const below = (step: string, system: string, service: string): ReceivedSpan[] =>
      spans.filter(
        (span) =>
          span.kind === 'client' &&
          (span.attributes['db.system.name'] ?? 'http') === system &&
          ancestry(spans, span)[1] === `${step}@${service}`,
      );
    const names = (found: readonly ReceivedSpan[]): string[] => found.map(({ name }) => name);
    expect(names(below('commit', 'postgresql', 'notes-api'))).toEqual(
      expect.arrayContaining([expect.stringContaining('INSERT recordings'), 'COMMIT']),
    );
    expect(names(below('commit', 'postgresql', 'notes-transcriber'))).toContain('UPDATE recordings');
    expect(names(below('publish event', 'postgresql', 'notes-transcriber'))).toEqual(
      expect.arrayContaining(['INSERT events', 'INSERT deliveries', 'SELECT webhooks']),
    );
    expect(names(below('deliver', 'postgresql', 'notes-deliverer'))).not.toEqual([]);
    expect(names(below('enqueue transcription', 'redis', 'notes-api'))).not.toEqual([]);
    for (const [step, service] of [
      ['chunk', 'notes-transcriber'],
      ['deliver', 'notes-deliverer'],
    ] as const) {
      expect(below(step, 'http', service)).toMatchObject([
        { name: 'POST', attributes: { 'http.request.method': 'POST', 'http.response.status_code': 200 } },
      ]);
    }
    for (const span of spans) expect(span.end).toBeGreaterThanOrEqual(span.start);
  });

  it('says of each step whose it is, of what, by which engine, how long and which attempt', async () => {
    receiver.answerNext({ status: 500, body: secret('the answer of a receiver') }, { drop: true });
    const id = await uploadOne();
    const spans = await spansOf(id, 'deliver', 3);
    const whose = { 'voice_notes.account.id': client.accountId, 'voice_notes.recording.id': id };
    const seconds = named(spans, 'POST /v1/recordings').attributes['voice_notes.audio.seconds'] as number;
    expect(seconds).toBeGreaterThan(1);
    expect(named(spans, 'POST /v1/recordings').attributes).toMatchObject({
      ...whose,
      'http.route': '/v1/recordings',
      'http.response.status_code': 201,
    });
    expect(named(spans, 'transcribe').attributes).toMatchObject({
      ...whose,
      'voice_notes.engine': 'openai',
      'voice_notes.model': expect.any(String),
      'voice_notes.audio.seconds': expect.closeTo(seconds, 0),
      'voice_notes.attempt': 1,
      'voice_notes.run': 1,
    });
    const deliveries = spans.filter(({ name }) => name === 'deliver');
    const common = { ...whose, 'voice_notes.webhook.id': webhookId, 'voice_notes.event.type': 'recording.transcribed' };
    expect(deliveries).toMatchObject([
      { isFailed: true, attributes: { ...common, 'voice_notes.attempt': 1, 'http.response.status_code': 500 } },
      { isFailed: true, attributes: { ...common, 'voice_notes.attempt': 2, 'error.type': 'reset' } },
      { isFailed: false, attributes: { ...common, 'voice_notes.attempt': 3, 'http.response.status_code': 200 } },
    ]);
    const published = named(spans, 'publish event');
    const enqueued = named(spans, 'enqueue transcription');
    const linked = (span: ReceivedSpan) => [{ traceId: traceOf(id), spanId: span.spanId }];
    expect([published.kind, enqueued.kind]).toEqual(['producer', 'producer']);
    expect(named(spans, 'transcribe')).toMatchObject({ kind: 'consumer', links: linked(enqueued) });
    for (const delivery of deliveries) expect(delivery).toMatchObject({ kind: 'consumer', links: linked(published) });
    for (const span of spans) expect(span.resource['deployment.environment.name']).toBe('test');
  });

  it('keeps the trace and its links when the job of a recording is lost, and its worker dies', async () => {
    await processes.transcriber.end('SIGKILL');
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    // Claimed by a worker that is no more, and whose lease is over; no job tells of it.
    await database.query(
      `UPDATE recordings SET attempt = 1, lease_token = gen_random_uuid(), lease_until = now() WHERE id = $1`,
      [body.id],
    );
    const spansBefore = await spansOf(body.id, 'enqueue transcription');
    const redis = new Redis(environment.variables.REDIS_URL as string);
    await redis.flushdb();
    redis.disconnect();
    await start('transcriber');
    await client.finished(body.id);
    const spans = await spansOf(body.id);
    const enqueued = named(spansBefore, 'enqueue transcription');
    const again = named(spans, 'transcribe');
    expect(again).toMatchObject({
      parentId: enqueued.spanId,
      links: [{ traceId: traceOf(body.id), spanId: enqueued.spanId }],
      attributes: { 'voice_notes.attempt': 2 },
    });
    expect(ancestry(spans, named(spans, 'deliver')).at(-1)).toBe('POST /v1/recordings@notes-api');
  });

  it('links to the trace of who sends a request, and takes neither its ids nor its sampling', async () => {
    const id = await uploadOne({ traceparent: TRACEPARENT, baggage: `user=${secret('an identity')}` });
    const spans = await spansOf(id);
    const [, traceId, spanId] = TRACEPARENT.split('-') as [string, string, string, string];
    const root = spans.find(({ parentId }) => parentId === '');
    expect(root).toMatchObject({ traceId: traceOf(id), links: [{ traceId, spanId }] });
    expect(collector.ofTrace(traceId)).toEqual([]);
    expect(JSON.stringify(receiver.requests.map(({ headers }) => Object.keys(headers)))).not.toMatch(
      /trace|baggage|b3|span/i,
    );
  });

  it('writes the ids of traces into the lines of the log', async () => {
    const id = await uploadOne();
    const spans = await spansOf(id);
    const lines = processes.api
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    const root = spans.find(({ parentId }) => parentId === '') as ReceivedSpan;
    const answered = lines.filter(({ trace_id }) => trace_id === root.traceId);
    expect(answered).toMatchObject([{ msg: 'answered', method: 'POST', span_id: root.spanId, status: 201 }]);
  });

  it('gives a further run a trace of its own, which begins with a link to the request for it', async () => {
    processes.transcriber.signal('SIGSTOP');
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    const move = (from: string, to: string) =>
      database.query(`UPDATE recordings SET object_key = replace(object_key, $2, $3) WHERE id = $1`, [
        body.id,
        from,
        to,
      ]);
    await move('.wav', '.gone');
    processes.transcriber.signal('SIGCONT');
    expect(await client.finished(body.id)).toMatchObject({ status: 'failed' });
    const failed = await spansOf(body.id);
    expect(named(failed, 'transcribe')).toMatchObject({
      isFailed: true,
      attributes: { 'error.type': 'ObjectNotFoundError' },
    });
    await move('.gone', '.wav');
    await client.post(`/v1/recordings/${body.id}/retry`).expect(202);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    const traceId = traceIdOf({ id: body.id, run: 2 });
    const spans = await eventually(() => {
      const all = collector.ofTrace(traceId);
      return all.some(({ name }) => name === 'deliver') && all;
    });
    const request = await eventually(() => collector.spans.find(({ name }) => name.endsWith('/retry')));
    const enqueued = named(spans, 'enqueue transcription');
    expect(ancestry(spans, named(spans, 'deliver'))).toEqual([
      'deliver@notes-deliverer',
      'publish event@notes-transcriber',
      'commit@notes-transcriber',
      'transcribe@notes-transcriber',
      'enqueue transcription@notes-api',
      'accepted@notes-api',
    ]);
    expect(request.links).toEqual([{ traceId, spanId: enqueued.spanId }]);
    expect(enqueued.links).toMatchObject([{ traceId: request.traceId }]);
  });

  it('tells of a correction in the trace of its recording, with a link to the request', async () => {
    const id = await uploadOne();
    const before = receiver.requests.length;
    await client.put(`/v1/recordings/${id}/transcription`, { text: secret('a correction') }).expect(200);
    await receiver.waitFor((requests) => requests.length > before);
    const spans = await spansOf(id, 'deliver', 2);
    const put = await eventually(() => collector.spans.find(({ name }) => name.startsWith('PUT ')));
    const published = spans.findLast(({ name }) => name === 'publish event') as ReceivedSpan;
    expect(published.links).toMatchObject([{ traceId: put.traceId }]);
    expect(put.links).toEqual([{ traceId: traceOf(id), spanId: published.spanId }]);
    expect(ancestry(spans, published)).toEqual(['publish event@notes-api', 'POST /v1/recordings@notes-api']);
  });

  it('tells the collector nothing that clients, engines or receivers have sent, and no secret', async () => {
    await client.get(`/v1/recordings?q=${secret('what is searched')}&title=${secret('a title')}`);
    await client.get(`/v1/users/${secret('an identity')}`);
    await client.post('/v1/account/access-tokens', { identity: secret('an identity') }).expect(201);
    await eventually(() => collector.spans.some(({ name }) => name === 'POST /v1/account/access-tokens'));
    secrets['the secret of a key'] = client.credentials.secret;
    secrets['the key of a client'] = client.credentials.key;
    secrets['the SECRET_KEY'] = environment.variables.SECRET_KEY as string;
    secrets['the address of the receiver'] = new URL(receiver.url()).host;
    expect(collector.spans.length).toBeGreaterThan(100);
    const sent = Buffer.concat(collector.requests.map(({ bytes }) => bytes)).toString('latin1');
    // The whole of what was sent, and so also names of attributes, events, messages and the resource.
    expect(Object.keys(secrets).filter((what) => sent.includes(secret(what)))).toEqual([]);
    for (const { path, headers } of collector.requests) {
      expect([path, headers['x-collector-key']]).toEqual(['/v1/traces', secret('the header for the collector')]);
    }
    expect(collector.spans.filter(({ events, statusMessage }) => events > 0 || statusMessage !== '')).toEqual([]);
    const attributes = new Set(collector.spans.flatMap((span) => Object.keys(span.attributes)));
    expect([...attributes].toSorted()).toEqual([
      'db.operation.name',
      'db.query.summary',
      'db.system.name',
      'error.type',
      'http.request.method',
      'http.response.status_code',
      'http.route',
      'voice_notes.account.id',
      'voice_notes.attempt',
      'voice_notes.audio.bytes',
      'voice_notes.audio.seconds',
      'voice_notes.engine',
      'voice_notes.event.id',
      'voice_notes.event.type',
      'voice_notes.model',
      'voice_notes.recording.id',
      'voice_notes.run',
      'voice_notes.webhook.id',
    ]);
  });

  it('sends what is left when a process stops', async () => {
    variables.OTEL_BSP_SCHEDULE_DELAY = '60000';
    const { api } = processes;
    await start('api');
    await client.at(processes.api.url).get('/v1/account').expect(200);
    const instance = () => collector.spans.some(({ resource }) => resource['process.pid'] === processes.api.pid);
    expect(instance()).toBe(false);
    expect(await processes.api.end('SIGTERM')).toMatchObject({ code: 0 });
    expect(instance()).toBe(true);
    processes.api = api;
  });

  it('works and stops as usual while the collector does not answer', async () => {
    collector.isHanging = true;
    variables.OTEL_BSP_SCHEDULE_DELAY = '100';
    await start('api');
    const hanging = client.at(processes.api.url);
    for (let i = 0; i < 20; i++) await hanging.get('/v1/account').expect(200);
    // Not 1, with which it ends when its time to stop is over.
    expect(await processes.api.end('SIGTERM')).toMatchObject({ code: 0 });
    collector.isHanging = false;
  });

  it.each([
    ['without the variables of OpenTelemetry', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, false],
    ['when it is disabled', { OTEL_SDK_DISABLED: 'true' }, false],
    ['with OTEL_TRACES_EXPORTER=none', { OTEL_TRACES_EXPORTER: 'none' }, false],
    ['with an endpoint', {}, true],
  ])('loads its packages or not: %s', async (_, own, isLoaded) => {
    const tell = `import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const read = fs.readFileSync;
      fs.readFileSync = (file, ...others) => {
        if (/open-?telemetry/.test(String(file))) console.error('OpenTelemetry is loaded');
        return read(file, ...others);
      };
      syncBuiltinESMExports();`;
    const args = ['--import', `data:text/javascript,${encodeURIComponent(tell)}`, 'dist/main.js'];
    const started = await ServiceProcess.start(environment, 'api', { ...variables, ...own }, { args });
    expect(started.log().includes('OpenTelemetry is loaded')).toBe(isLoaded);
    const sent = collector.requests.length;
    await client.at(started.url).get('/v1/account').expect(200);
    await started.end('SIGTERM');
    if (!isLoaded) expect(collector.requests).toHaveLength(sent);
  });
});
