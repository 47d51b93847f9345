import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import type { Extension } from '../../../src/extension.js';
import { FETCHER_OPTIONS, type FetcherOptions } from '../../../src/modules/recordings/links/link-fetcher.service.js';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { signatureProblems, WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { FIXTURES } from '../../support/paths.js';
import { LinkSource } from '../../support/servers/link-source.js';
import { timedEngine } from '../../support/service/test-engines.js';

const WAV = silenceWav(1);
/** Long enough to be broken off in the middle. */
const LONG_WAV = silenceWav(60);
const SECRET = 'a secret that signs callbacks';
const RETRIES = [0.05, 0.05];

/** What each name of the tests leads to, in turn; the last answer stays. */
const names: Record<string, string[][]> = {
  'rebinding.example.com': [['93.184.216.34', '10.0.0.1']],
  'private.example.com': [['192.168.1.1']],
  'unknown.example.com': [[]],
};
const OPTIONS: Partial<FetcherOptions> = {
  headersMs: 2000,
  stallMs: 2000,
  nameErrorMs: 10,
  resumeMs: 10,
  retrySeconds: RETRIES,
  resolve: async (name) => names[name]?.[0] ?? [],
};

@Module({ providers: [{ provide: FETCHER_OPTIONS, useValue: OPTIONS }], exports: [FETCHER_OPTIONS] })
class FastRetriesModule {}

const fastRetries: Extension = { module: { module: FastRetriesModule, global: true } };
const engine = timedEngine({ msPerSecond: 0, concurrency: 4 });
const service = useService(
  { TRANSCRIPTION_ENGINE: 'timed', WEBHOOK_RETRY_SCHEDULE: '1,1' },
  { extensions: [fastRetries, engine.extension] },
);

let source: LinkSource;
let untrusted: LinkSource;
let receiver: WebhookReceiver;

beforeAll(async () => {
  const pem = (name: string) => readFileSync(join(FIXTURES, 'tls', name));
  source = await LinkSource.listen();
  untrusted = await LinkSource.listen(createServer({ key: pem('key.pem'), cert: pem('certificate.pem') }));
  receiver = await WebhookReceiver.listen();
});

afterAll(() => Promise.all([source.close(), untrusted.close(), receiver.close()]));

const sends =
  (bytes: Buffer, headers: Record<string, string> = {}) =>
  (_: unknown, response: ServerResponse) =>
    void response.writeHead(200, { 'Content-Length': bytes.length, ...headers }).end(bytes);
const redirects = (location: string) => (_: unknown, response: ServerResponse) =>
  void response.writeHead(302, { Location: location }).end();

async function post(client: ApiClient, url: string, fields: object = {}): Promise<Record<string, unknown>> {
  const { body } = await client.post('/v1/recordings', { url, ...fields }).expect(201);
  return body as Record<string, unknown>;
}

async function failureOf(client: ApiClient, id: unknown): Promise<string> {
  const { body } = await client.get(`/v1/recordings/${id as string}?include=transcription`).expect(200);
  return (body as { failure_reason: string }).failure_reason;
}

/** Nothing is left of a fetch: no file in the spool, no object, no reservation, no link unless it has failed. */
async function rowsOf(id: unknown): Promise<object> {
  const [row] = await service.database.query<object>(
    `SELECT (SELECT count(*)::int FROM recording_links WHERE recording_id = $1) AS links,
       (SELECT count(*)::int FROM recording_links WHERE recording_id = $1 AND due_at IS NULL) AS ended,
       (SELECT count(*)::int FROM object_removals WHERE object_key LIKE '%' || $1 || '%') AS reservations`,
    [id],
  );
  return row as object;
}

describe('an upload by its link (D72)', () => {
  it('is processing at once, is fetched, named and transcribed, and counts when its file is there', async () => {
    const client = await service.account();
    const url = source.serve('/files/note%20one.wav', sends(WAV, { ETag: '"1"' }));
    const created = await post(client, `${url}?token=secret-token`, {
      custom_tags: { ticket: 'T-1' },
      language: 'english',
    });
    expect(created).toMatchObject({
      code: 'RECORDING_CREATED',
      status: 'processing',
      original_filename: 'note one.wav',
      duration_seconds: 0,
      file_size_bytes: 0,
      audio_format: 'wav',
      sample_rate: null,
      custom_tags: { ticket: 'T-1' },
    });
    const { id } = created;
    expect(await client.finished(id as string)).toMatchObject({
      status: 'transcribed',
      duration_seconds: 1,
      file_size_bytes: WAV.length,
      audio_format: 'wav',
      s3_key: expect.stringMatching(new RegExp(`/${id as string}\\.wav$`)),
    });
    const { body } = await client
      .get(`/v1/recordings/${id as string}/audio`)
      .buffer()
      .expect(200);
    expect(Buffer.compare(body as Buffer, WAV)).toBe(0);
    expect(await rowsOf(id)).toEqual({ links: 0, ended: 0, reservations: 0 });
    const { body: usage } = await client.get('/v1/account/quotas').expect(200);
    expect(JSON.stringify(usage)).toContain(`${WAV.length}`);
    const { body: events } = await client.get('/v1/events').expect(200);
    expect(JSON.stringify(events)).not.toContain('secret-token');
  });

  it('takes a form field, too, and the name that the answer gives', async () => {
    const client = await service.account();
    const disposition = `attachment; filename="x.wav"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.wav`;
    const url = source.serve('/named', sends(WAV, { 'Content-Disposition': disposition }));
    const redirecting = source.serve('/moved', redirects(url));
    const request = client.post('/v1/recordings').field('url', redirecting).field('custom_tags', '{"a":"b"}');
    const { body } = await request.expect(201);
    expect(await client.finished(body.id as string)).toMatchObject({
      status: 'transcribed',
      original_filename: 'Grüße.wav',
      custom_tags: { a: 'b' },
    });
  });

  it.each<[string, object, string]>([
    ['an http URL of a public host', { url: 'http://files.example.com/a.ogg' }, 'url must be an https URL'],
    ['a private address', { url: 'https://10.0.0.1/a.ogg' }, 'url must not point to a private or special address'],
    ['a metadata address in another spelling', { url: 'https://0xa9fea9fe/' }, 'url must not point to a private'],
    ['a private name', { url: 'https://printer.local/' }, 'url must not point to a private name'],
    ['no URL at all', { url: 'note.ogg' }, 'url must be an absolute http or https URL'],
    ['a number', { url: 1 }, 'url must be text'],
    ['no url', { language: 'english' }, 'An upload must be multipart/form-data'],
    ['an unknown field', { url: 'https://files.example.com/', name: 'x' }, 'name is not a field'],
    ['tags that are no object', { url: 'https://files.example.com/', custom_tags: ['x'] }, 'custom_tags must be'],
    [
      'a callback without a secret',
      { url: 'https://files.example.com/', callback_url: 'https://a.example/' },
      'callback_secret is required',
    ],
    [
      'a secret without a callback',
      { url: 'https://files.example.com/', callback_secret: SECRET },
      'callback_secret may be given only',
    ],
    [
      'a callback at a private address',
      { url: 'https://files.example.com/', callback_url: 'https://10.0.0.1/', callback_secret: SECRET },
      'callback_url must not point',
    ],
  ])('refuses %s', async (_, body, message) => {
    const client = await service.account();
    const { body: answer } = await client.post('/v1/recordings', body).expect(400);
    expect(answer.error.message).toContain(message);
    const { body: list } = await client.get('/v1/recordings').expect(200);
    expect(list.total).toBe(0);
  });

  it('refuses a link together with a file, and an account that has no room', async () => {
    const client = await service.account();
    const { body } = await client.upload(WAV, { url: 'https://files.example.com/a.wav' }).expect(400);
    expect(body.error.message).toContain('url may not be given together with a file');
    await service.database.query(`UPDATE accounts SET quotas = '{"storedBytes": 0}' WHERE id = $1`, [client.accountId]);
    await eventually(
      async () => (await client.post('/v1/recordings', { url: source.serve('/full', sends(WAV)) })).status === 403,
    );
  });

  it('fails with the reason, at once where another attempt is of no use', async () => {
    const client = await service.account();
    const html = Buffer.from('<!doctype html><title>Sign in</title>');
    const stall = (_: unknown, response: ServerResponse) => void response.writeHead(200).write(WAV.subarray(0, 1000));
    const drip = (_: unknown, response: ServerResponse) => {
      // 30 MB without a length.
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1_000_000)));
      };
      response.on('drain', more);
      more();
    };
    const answers = (status: number) => (_: unknown, response: ServerResponse) => void response.writeHead(status).end();
    const loop = source.serve('/loop', redirects('/loop'));
    const once = 1;
    const each = RETRIES.length + 1;
    const cases: [name: string, url: string, reason: string, requests: number | null][] = [
      [
        'a redirect to a private address',
        source.serve('/p1', redirects('http://10.0.0.1/a.wav')),
        'does not fetch from',
        once,
      ],
      [
        'a redirect to the metadata',
        source.serve('/p2', redirects('http://169.254.169.254/latest')),
        'does not fetch from',
        once,
      ],
      [
        'a redirect to http',
        source.serve('/p3', redirects('http://files.example.com/a.wav')),
        'does not fetch from',
        once,
      ],
      ['a redirect to a file', source.serve('/p4', redirects('file:///etc/passwd')), 'does not fetch from', once],
      ['too many redirects', loop, 'redirects too often', 6],
      ['a name with a private address among others', 'https://rebinding.example.com/a.wav', 'no public address', null],
      ['a name with a private address', 'https://private.example.com/a.wav', 'no public address', null],
      ['an unknown name', 'https://unknown.example.com/a.wav', 'no public address', null],
      ['30 MB without a length', source.serve('/large', drip), 'is larger than 25 MB (26,214,400 bytes)', once],
      [
        '30 MB by the length',
        source.serve('/length', (_, r) => void r.writeHead(200, { 'Content-Length': 31_457_280 }).write('x')),
        'is larger than 25 MB',
        once,
      ],
      [
        'a web page',
        source.serve('/page', sends(html, { 'Content-Type': 'text/html; charset=utf-8' })),
        'leads to a web page',
        once,
      ],
      [
        'a web page that says it is audio',
        source.serve('/lie', sends(html, { 'Content-Type': 'audio/ogg' })),
        'this looks like text',
        once,
      ],
      ['an empty file', source.serve('/empty', sends(Buffer.alloc(0))), 'must not be empty', once],
      ['a stalled host', source.serve('/stall', stall), 'did not answer in time', each],
      [
        'a certificate that nobody has signed',
        untrusted.serve('/a', sends(WAV)).replace('http:', 'https:'),
        'certificate of the link is not trusted',
        null,
      ],
      ['404', source.serve('/404', answers(404)), 'HTTP status 404', once],
      ['401', source.serve('/401', answers(401)), 'HTTP status 401', once],
      ['503 for ever', source.serve('/503', answers(503)), 'HTTP status 503', each],
      ['a closed port', 'http://127.0.0.1:9/a.wav', 'connection to the host of the link failed', null],
    ];
    const ids = await Promise.all(cases.map(async ([, url]) => (await post(client, url)).id));
    const found = [];
    for (const [i, [name, url]] of cases.entries()) {
      const { status } = await client.finished(ids[i] as string);
      const requests = source.requestsOf(new URL(url).pathname).length;
      found.push([name, status, await failureOf(client, ids[i]), requests, await rowsOf(ids[i])]);
    }
    const left = { links: 1, ended: 1, reservations: 0 };
    expect(found).toEqual(
      cases.map(([name, , reason, requests]) => [
        name,
        'failed',
        expect.stringContaining(reason),
        requests ?? expect.any(Number),
        left,
      ]),
    );
    const { body } = await client.get('/v1/events?limit=100').expect(200);
    const kinds = (body as { events: { event: string }[] }).events.map(({ event }) => event);
    expect(kinds.filter((kind) => kind === 'recording.failed')).toHaveLength(cases.length);
  });

  it('is resumed where it broke off, and begins again with another file', async () => {
    const client = await service.account();
    const half = LONG_WAV.length / 2;
    const breaksOff =
      (tag: () => string) => (request: { headers: Record<string, unknown> }, response: ServerResponse) => {
        const { range, 'if-range': ifRange } = request.headers;
        if (range !== undefined && ifRange === tag()) {
          const from = Number(/\d+/.exec(range as string)?.[0]);
          const headers = { 'Content-Range': `bytes ${from}-${LONG_WAV.length - 1}/*`, ETag: tag() };
          response.writeHead(206, headers).end(LONG_WAV.subarray(from));
        } else if (range === undefined) {
          response.writeHead(200, { 'Content-Length': LONG_WAV.length, ETag: tag() });
          response.write(LONG_WAV.subarray(0, half), () => setTimeout(() => response.destroy(), 100));
        } else {
          response.writeHead(200, { 'Content-Length': WAV.length, ETag: tag() }).end(WAV);
        }
      };
    let tags = 0;
    const same = await post(
      client,
      source.serve(
        '/same.wav',
        breaksOff(() => '"same"'),
      ),
    );
    const other = await post(
      client,
      source.serve(
        '/other.wav',
        breaksOff(() => `"${tags++}"`),
      ),
    );
    let whole = 0;
    // Goes on at another byte than it was asked for, once.
    const shifted = await post(
      client,
      source.serve('/shifted.wav', (request, response) => {
        if (request.headers.range !== undefined) {
          response.writeHead(206, { 'Content-Range': `bytes 0-9/${LONG_WAV.length}` }).end(LONG_WAV.subarray(0, 10));
        } else if (whole++ > 0) response.writeHead(200, { 'Content-Length': LONG_WAV.length }).end(LONG_WAV);
        else breaksOff(() => '"shifted"')(request, response);
      }),
    );
    expect(await client.finished(shifted.id as string)).toMatchObject({
      status: 'transcribed',
      file_size_bytes: LONG_WAV.length,
    });
    expect(await client.finished(same.id as string)).toMatchObject({
      status: 'transcribed',
      file_size_bytes: LONG_WAV.length,
    });
    expect(await client.finished(other.id as string)).toMatchObject({
      status: 'transcribed',
      file_size_bytes: WAV.length,
    });
    expect(source.requestsOf('/same.wav')).toEqual([
      expect.objectContaining({ range: undefined }),
      expect.objectContaining({ range: expect.stringMatching(/^bytes=[1-9]\d*-$/), ifRange: '"same"' }),
    ]);
  });

  it('is tried again after a 500, and fetched anew by a retry', async () => {
    const client = await service.account();
    let status = 500;
    const url = source.serve('/later.wav', (_, response) => {
      if (status === 200) sends(WAV)(_, response);
      else response.writeHead(status).end();
      if (status === 500) status = 200;
    });
    const first = await post(client, url);
    expect(await client.finished(first.id as string)).toMatchObject({ status: 'transcribed' });
    status = 404;
    const second = await post(client, url);
    expect(await client.finished(second.id as string)).toMatchObject({ status: 'failed' });
    await client.get(`/v1/recordings/${second.id as string}/audio`).expect(404);
    status = 200;
    const { body } = await client.post(`/v1/recordings/${second.id as string}/retry`).expect(202);
    expect(body).toMatchObject({ status: 'processing', duration_seconds: 0 });
    expect(await client.finished(second.id as string)).toMatchObject({ status: 'transcribed', duration_seconds: 1 });
    status = 404;
    const third = await post(client, url);
    await client.finished(third.id as string);
    await service.database.query('DELETE FROM recording_links WHERE recording_id = $1', [third.id]);
    const { body: refusal } = await client.post(`/v1/recordings/${third.id as string}/retry`).expect(409);
    expect(refusal.error.message).toContain('no longer kept');
  });

  it('is refused a retry while its link is being forgotten, and not left without one', async () => {
    const client = await service.account();
    const { id } = await post(
      client,
      source.serve('/forgotten.wav', (_, r) => void r.writeHead(404).end()),
    );
    await client.finished(id as string);
    const forgetting = service.app.get(DatabaseService).dataSource.createQueryRunner();
    await forgetting.startTransaction();
    await forgetting.query('DELETE FROM recording_links WHERE recording_id = $1', [id]);
    const retry = client.post(`/v1/recordings/${id as string}/retry`).then(({ status }) => status);
    await eventually(async () => {
      const [waiting] = await service.database.query<{ count: number }>(
        `SELECT count(*)::int FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE recording_links%' AND datname = current_database()`,
      );
      return waiting?.count === 1;
    });
    await forgetting.commitTransaction();
    await forgetting.release();
    expect(await retry).toBe(409);
    const { body } = await client.get(`/v1/recordings/${id as string}`).expect(200);
    expect(body.status).toBe('failed');
  });

  it('waits for no slow hosts of another account', async () => {
    const [slow, other] = [await service.account(), await service.account()];
    const held = new Set<ServerResponse>();
    let isOver = false;
    // One byte at a time, so that it never stalls.
    const drips = (_: unknown, response: ServerResponse): void => {
      if (isOver) {
        response.writeHead(404).end();
        return;
      }
      held.add(response.writeHead(200));
      const timer = setInterval(() => response.write('x'), 200);
      response.on('close', () => clearInterval(timer));
    };
    for (let i = 0; i < 12; i++) await post(slow, source.serve(`/drips/${i}`, drips));
    await eventually(() => held.size >= 2);
    const { id } = await post(other, source.serve('/quick.wav', sends(WAV)));
    expect(await other.finished(id as string)).toMatchObject({ status: 'transcribed' });
    expect([...held].filter(({ destroyed }) => destroyed)).toEqual([]);
    isOver = true;
    for (const response of held) response.destroy();
    await eventually(async () => (await slow.get('/v1/recordings?status=failed').expect(200)).body.total === 12);
  });

  it('counts for a test account as its uploads do', async () => {
    const live = await service.account();
    const { body: key } = await live.post('/v1/account/api-keys', { name: 'CI', mode: 'test' }).expect(201);
    const test = new ApiClient(service.url, '', { id: key.id, key: key.api_key, secret: key.api_secret });
    // Those that its plan would have.
    await service.database.query(`UPDATE accounts SET quotas = '{"audioSecondsPerMonth": 0}' WHERE test_of = $1`, [
      live.accountId,
    ]);
    const { id } = await post(test, source.serve('/of-test.wav', sends(WAV)));
    expect(await test.finished(id as string)).toMatchObject({ status: 'transcribed' });
  });

  it('is the same upload with the same Idempotency-Key', async () => {
    const client = await service.account();
    const url = source.serve('/once.wav', sends(WAV));
    const again = (fields: object) => client.post('/v1/recordings', { url, ...fields }).set('Idempotency-Key', 'one');
    const { body: first } = await again({}).expect(201);
    const { body: second, headers } = await again({}).expect(201);
    expect([second.id, headers['idempotent-replayed']]).toEqual([first.id, 'true']);
    await again({ language: 'german' }).expect(409);
    await client.finished(first.id as string);
    expect(source.requestsOf('/once.wav')).toHaveLength(1);
  });

  it('loses against a deletion, and leaves nothing', async () => {
    const client = await service.account();
    let release = (): void => undefined;
    const url = source.serve('/held.wav', (_, response) => {
      release = () => sends(WAV)(_, response);
    });
    const { id } = await post(client, url);
    await eventually(async () => source.requestsOf('/held.wav').length > 0);
    await client.delete(`/v1/recordings/${id as string}`).expect(204);
    release();
    await eventually(async () => Object.values(await rowsOf(id)).every((count) => count === 0));
    await client.get(`/v1/recordings/${id as string}`).expect(404);
    const [stored] = await service.database.query<{ ms: number; bytes: number }>(
      `SELECT coalesce(sum(duration_ms), 0)::int AS ms, coalesce(sum(bytes), 0)::int AS bytes FROM (
         SELECT duration_ms, bytes FROM usage_counters WHERE account_id = $1
         UNION ALL SELECT duration_ms, bytes FROM usage_counter_deltas WHERE account_id = $1) counted`,
      [client.accountId],
    );
    expect(stored).toEqual({ ms: 0, bytes: 0 });
  });
});

describe('callback_url (D73)', () => {
  it('is told of the end of its recording alone, signed, and goes with it', async () => {
    const client = await service.account();
    const callback = { callback_url: receiver.url('/callback'), callback_secret: SECRET };
    const { body: uploaded } = await client.upload(WAV, callback).expect(201);
    const linked = await post(
      client,
      source.serve('/gone.wav', (_, r) => void r.writeHead(404).end()),
      callback,
    );
    await client.upload(silenceWav(2)).expect(201);
    const received = await eventually(async () => receiver.requests.length >= 2 && receiver.requests);
    const bodies = received.map(
      ({ body }) => JSON.parse(body.toString()) as { event: string; recording: { id: string } },
    );
    expect(bodies.map(({ event, recording }) => `${event} ${recording.id}`).toSorted()).toEqual(
      [`recording.failed ${linked.id as string}`, `recording.transcribed ${uploaded.id as string}`].toSorted(),
    );
    for (const request of received) expect(signatureProblems(request, SECRET)).toEqual([]);

    const { body: list } = await client.get('/v1/webhooks').expect(200);
    expect(list.total).toBe(0);
    const path = `/v1/recordings/${uploaded.id as string}/callback`;
    const { body: view } = await client.get(path).expect(200);
    expect(view).toMatchObject({ recording_id: uploaded.id, url: callback.callback_url, status: 'active', uri: path });
    await client.get(`/v1/webhooks/${view.id as string}`).expect(404);
    await client.delete(`/v1/webhooks/${view.id as string}`).expect(404);
    await (await service.account()).get(path).expect(404);
    const { deliveries } = await eventually(async () => {
      const { body } = await client.get(view.deliveries_uri as string).expect(200);
      return (body as { deliveries: { status: string }[] }).deliveries[0]?.status === 'delivered' && body;
    });
    await client.post(`${deliveries[0].uri as string}/redeliver`).expect(202);
    await eventually(async () => receiver.requests.length === 3);

    await client.delete(`/v1/recordings/${uploaded.id as string}`).expect(204);
    const [left] = await service.database.query(
      `SELECT (SELECT count(*)::int FROM webhooks WHERE id = $1) AS webhooks,
         (SELECT count(*)::int FROM deliveries WHERE webhook_id = $1) AS deliveries`,
      [view.id],
    );
    expect(left).toEqual({ webhooks: 0, deliveries: 0 });
  });
});
