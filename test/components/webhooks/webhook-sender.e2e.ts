import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import { Test } from '@nestjs/testing';
import {
  type DeliveryOutcome,
  SENDER_OPTIONS,
  type SenderOptions,
  WebhookSenderService,
} from '../../../src/modules/webhooks/sending/webhook-sender.service.js';
import { Env } from '../../../src/platform/config/env.js';
import { checkRows } from '../../support/check-rows.js';
import { drip, HostileReceiver, writeForever } from '../../support/servers/hostile-receiver.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { FIXTURES } from '../../support/paths.js';

const BODY = Buffer.from('{"event":"recording.transcribed","é":1}');
/** Shortened clocks, for receivers that let them run out; the rules are the same with 5 s and 15 s. */
const CONNECT_MS = 400;
const HEADERS_MS = 800;
/** What an attempt may take beyond its clock on a busy machine. */
const SLACK_MS = 5000;

const closing: { close(): Promise<void> }[] = [];

function makeSender(options: Partial<SenderOptions> = {}, cidrs = ['127.0.0.0/8', '::1/128']): WebhookSenderService {
  const env = { webhookAllowedCidrs: cidrs } as unknown as Env;
  return new WebhookSenderService(env, options);
}

async function receiver(): Promise<WebhookReceiver> {
  const made = await WebhookReceiver.listen();
  closing.push(made);
  return made;
}

async function hostile(behave: (socket: Socket) => void): Promise<HostileReceiver> {
  const made = await HostileReceiver.listen(behave);
  closing.push(made);
  return made;
}

function post(url: string, sender = makeSender(), signal?: AbortSignal): Promise<DeliveryOutcome> {
  return sender.send({ url, headers: { 'Content-Type': 'application/json', 'webhook-id': 'e1' }, body: BODY, signal });
}

async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const started = performance.now();
  const result = await work;
  return [result, performance.now() - started];
}

async function until(satisfied: () => boolean, ms = 20_000): Promise<void> {
  const deadline = Date.now() + ms;
  while (!satisfied() && Date.now() < deadline) await delay(10);
  expect(satisfied()).toBe(true);
}

afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(closing.splice(0).map((made) => made.close()));
});

describe('a delivery', () => {
  it('carries the exact bytes, the given headers, a length and the name of the service', async () => {
    const server = await receiver();

    const outcome = await post(server.url('/hook?token=a%20b'));

    expect(outcome).toEqual({
      status: 200,
      errorKind: null,
      error: null,
      response: '',
      retryAfter: null,
      durationMs: expect.any(Number),
    });
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/hook?token=a%20b',
      headers: {
        host: `127.0.0.1:${server.port}`,
        'content-type': 'application/json',
        'content-length': String(BODY.length),
        'webhook-id': 'e1',
        'user-agent': 'VoiceNoteTranscription-Webhooks/1',
        connection: 'keep-alive',
      },
    });
    expect(request?.body.equals(BODY)).toBe(true);
  });

  it('reports the status as it came, and follows no redirect', () =>
    checkRows(
      [200, 201, 204, 299, 301, 308, 400, 410, 500].map((status) => [status] as const),
      async (status) => {
        const server = await receiver();
        server.answerAlways({ status, headers: { Location: server.url('/elsewhere'), 'Retry-After': '9' } });
        expect(await post(server.url())).toMatchObject({ status, error: null, retryAfter: null });
        expect(server.requests).toHaveLength(1);
      },
    ));

  it('reports the Retry-After of a 429 and a 503', async () => {
    for (const status of [429, 503]) {
      const server = await receiver();
      server.answerAlways({ status, headers: { 'Retry-After': '120' } });
      expect(await post(server.url())).toMatchObject({ status, retryAfter: '120' });
    }
  });

  it('is no business of a proxy in the environment', async () => {
    const [server, proxy] = [await receiver(), await receiver()];
    const before = { ...process.env };
    Object.assign(process.env, { HTTP_PROXY: proxy.url('/'), http_proxy: proxy.url('/'), ALL_PROXY: proxy.url('/') });
    try {
      expect(await post(server.url())).toMatchObject({ status: 200 });
    } finally {
      process.env = before;
    }
    expect(proxy.requests).toHaveLength(0);
  });

  it('tries the next address when one does not answer', async () => {
    const server = await receiver();
    const sender = makeSender({ resolve: async () => ['127.0.0.9', '127.0.0.1'] });

    expect(await post(`http://hooks.example.com:${server.port}/`, sender)).toMatchObject({ status: 200 });
  });

  it('takes localhost for the loopback that the operator allows, whatever a resolver says', async () => {
    const server = await receiver();
    const resolve = jest.fn(async () => ['192.0.2.1']);

    const outcome = await post(`http://localhost:${server.port}/`, makeSender({ resolve }, ['127.0.0.0/8']));

    expect(outcome).toMatchObject({ status: 200 });
    expect(resolve).not.toHaveBeenCalled();
  });
});

describe('a receiver that', () => {
  it('answers 2xx in time has the delivery, even if its body never comes', async () => {
    const server = await receiver();
    server.answerAlways({ status: 202, hang: 'body' });

    const [outcome, elapsed] = await timed(post(server.url()));

    expect(outcome).toMatchObject({ status: 202, error: null });
    expect(outcome.durationMs).toBeLessThan(SLACK_MS);
    expect(elapsed).toBeLessThan(1000 + SLACK_MS);
  });

  it('answers with a gigabyte is hung up on', async () => {
    let sent = (): number => 0;
    const server = await hostile((socket) => {
      sent = () => socket.bytesWritten;
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${2 ** 30}\r\n\r\n`);
      writeForever(socket, 'x'.repeat(0x4000));
    });

    expect(await post(`http://127.0.0.1:${server.port}/`)).toMatchObject({ status: 200 });

    await until(() => server.openConnections === 0);
    expect(sent()).toBeLessThan(2 ** 27);
  });

  it('answers without end takes no memory', async () => {
    const server = await hostile((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      writeForever(socket, `4000\r\n${'x'.repeat(0x4000)}\r\n`);
    });
    const sender = makeSender();
    const url = `http://127.0.0.1:${server.port}/`;
    await Promise.all(Array.from({ length: 20 }, () => post(url, sender)));

    const before = process.memoryUsage().rss;
    for (let round = 0; round < 10; round += 1) {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => post(url, sender)));
      expect(outcomes.every(({ status }) => status === 200)).toBe(true);
    }

    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 2 ** 20);
    await until(() => server.openConnections === 0);
  });

  it.each<[string, (socket: Socket) => void, RegExp, Partial<SenderOptions>?]>([
    ['never answers', () => undefined, /^no answer within 0\.8 s$/, { headersMs: HEADERS_MS }],
    [
      'drips its headers',
      (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nX-Drip: '.charAt(0), 20),
      /valid HTTP|no answer/,
      { headersMs: HEADERS_MS },
    ],
    [
      'drips a header without end',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nX-Drip: ');
        drip(socket, 'x', 20);
      },
      /^no answer within 0\.8 s$/,
      { headersMs: HEADERS_MS },
    ],
    [
      'sends interim answers without end',
      (socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n', 20),
      /^no answer/,
      { headersMs: HEADERS_MS },
    ],
    [
      'sends 40 kB of headers',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nX-Big: ${'x'.repeat(40_000)}\r\n\r\n`),
      /headers are longer than 16384 bytes/,
    ],
    [
      'sends headers without end',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        writeForever(socket, `X-Big: ${'x'.repeat(1000)}\r\n`);
      },
      /headers are longer than 16384 bytes/,
    ],
    ['resets the connection', (socket) => socket.resetAndDestroy(), /^the connection was closed before an answer$/],
    ['resets after the request', (socket) => socket.once('data', () => socket.resetAndDestroy()), /was closed before/],
    ['hangs up after the request', (socket) => socket.once('data', () => socket.end()), /was closed before/],
    [
      'does not speak HTTP',
      (socket) => socket.write('220 mail.example.com ESMTP\r\n'),
      /^the answer is not valid HTTP/,
    ],
    [
      'switches protocols',
      (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      /./,
    ],
  ])('%s ends in time and leaves nothing behind', async (_name, behave, error, options = {}) => {
    const server = await hostile(behave);

    const [outcome, elapsed] = await timed(post(`http://127.0.0.1:${server.port}/`, makeSender(options)));

    expect(outcome).toMatchObject({ status: null, error: expect.stringMatching(error), retryAfter: null });
    expect(elapsed).toBeLessThan(HEADERS_MS + SLACK_MS);
    expect(Math.abs(outcome.durationMs - elapsed)).toBeLessThan(1000);
    await until(() => server.openConnections === 0);
  });

  it('listens on nothing is reported as refused, without its address', async () => {
    const server = await WebhookReceiver.listen();
    const url = server.url();
    await server.close();

    expect(await post(url)).toMatchObject({ status: null, error: 'the connection was refused' });
  });

  it('has a name that is never resolved costs the time to connect', async () => {
    const sender = makeSender({ connectMs: CONNECT_MS, resolve: () => new Promise<string[]>(() => undefined) });

    const outcome = await post('http://hooks.example.com/', sender);

    expect(outcome).toMatchObject({ status: null, error: 'no connection within 0.4 s' });
    expect(outcome.durationMs).toBeLessThan(CONNECT_MS + SLACK_MS);
  });

  it('hangs does not hold up deliveries to others', async () => {
    const [hanging, quick] = [await receiver(), await receiver()];
    hanging.answerAlways({ hang: 'headers' });
    const sender = makeSender({ headersMs: 10_000 });
    const stuck = Array.from({ length: 200 }, () => post(hanging.url(), sender));
    await hanging.waitFor((requests) => requests.length === 200);

    const [outcomes, elapsed] = await timed(Promise.all(Array.from({ length: 50 }, () => post(quick.url(), sender))));

    expect(outcomes.every(({ status }) => status === 200)).toBe(true);
    expect(elapsed).toBeLessThan(8000);
    sender.onApplicationShutdown();
    await Promise.all(stuck);
  });
});

describe('the sender', () => {
  it('is made by Nest with the limits of the service, or with limits of its own', async () => {
    const env = { provide: Env, useValue: { webhookAllowedCidrs: [] } };
    for (const [providers, headersMs] of [
      [[], 15_000],
      [[{ provide: SENDER_OPTIONS, useValue: { headersMs: 50 } }], 50],
    ] as const) {
      const module = await Test.createTestingModule({ providers: [WebhookSenderService, env, ...providers] }).compile();
      expect(module.get(WebhookSenderService)['options']).toMatchObject({ connectMs: 5000, headersMs, idleMs: 1000 });
    }
  });
});

describe('an attempt', () => {
  it('ends when its signal is aborted, and when the service stops', async () => {
    const server = await receiver();
    server.answerAlways({ hang: 'headers' });
    const controller = new AbortController();
    const canceled = post(server.url(), makeSender(), controller.signal);
    const stopping = makeSender();
    const stopped = post(server.url(), stopping);
    await server.waitFor((requests) => requests.length === 2);
    controller.abort();
    stopping.onApplicationShutdown();
    const error = 'the attempt was cancelled';
    expect(await canceled).toMatchObject({ status: null, error });
    expect(await post(server.url(), makeSender(), controller.signal)).toMatchObject({ error });
    expect(await stopped).toMatchObject({ status: null, error: 'the service was stopped' });
    expect(server.requests).toHaveLength(2);
  });
});

describe('deliveries that follow each other', () => {
  /** A receiver that counts its connections, and hangs up on the next request when it is told to. */
  async function countingReceiver() {
    const state = { connections: 0, requests: 0, open: 0, hangUp: false, status: 200 };
    // Without a Keep-Alive header in the answers, which would tell the sender another idle time.
    const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      state.requests += 1;
      if (state.hangUp) {
        state.hangUp = false;
        request.socket.destroy();
      } else response.writeHead(state.status).end();
    });
    server.on('connection', (socket) => {
      state.connections += 1;
      state.open += 1;
      socket.on('close', () => (state.open -= 1));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push({
      close: async () => {
        server.closeAllConnections();
        server.close();
      },
    });
    return { state, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
  }

  /** Keeps connections as long as a busy machine takes from one delivery to the next. */
  function makeReusingSender(options: Partial<SenderOptions> = {}): WebhookSenderService {
    const sender = makeSender({ idleMs: 60_000, ...options });
    closing.push({ close: async () => sender.onApplicationShutdown() });
    return sender;
  }

  it('share a connection', async () => {
    const { state, url } = await countingReceiver();
    const sender = makeReusingSender();
    for (let i = 0; i < 5; i++) expect(await post(url, sender)).toMatchObject({ status: 200 });
    expect(state).toMatchObject({ connections: 1, requests: 5, open: 1 });
  });

  it('leave it open for a second after the last', async () => {
    const { state, url } = await countingReceiver();
    const started = performance.now();
    expect(await post(url)).toMatchObject({ status: 200 });
    await until(() => state.open === 0);
    expect(performance.now() - started).toBeGreaterThanOrEqual(900);
  });

  it('share no connection with another receiver', async () => {
    const [first, second] = [await countingReceiver(), await countingReceiver()];
    const sender = makeReusingSender();
    for (let i = 0; i < 3; i++) {
      await post(first.url, sender);
      await post(second.url, sender);
    }
    expect(first.state).toMatchObject({ connections: 1, requests: 3 });
    expect(second.state).toMatchObject({ connections: 1, requests: 3 });
  });

  it('share it for ten seconds at most: then the address of the host is checked again', async () => {
    const { state, url } = await countingReceiver();
    const { port } = new URL(url);
    const resolve = jest.fn(async () => ['127.0.0.1']);
    const sender = makeReusingSender({ resolve });
    const send = () => post(`http://hooks.example.com:${port}/`, sender);
    const started = Date.now();
    const clock = jest.spyOn(Date, 'now');
    for (const [ms, connections] of [
      [0, 1],
      [9_000, 1],
      [10_500, 2],
    ] as const) {
      clock.mockReturnValue(started + ms);
      expect(await send()).toMatchObject({ status: 200 });
      expect([state.connections, resolve.mock.calls.length]).toEqual([connections, connections]);
    }
    // The name leads somewhere else by now: the old connection is not used any longer.
    resolve.mockResolvedValue(['10.0.0.1']);
    clock.mockReturnValue(started + 21_000);
    expect(await send()).toMatchObject({ status: null, error: 'the host name has no public address' });
    expect(state.requests).toBe(3);
  });

  it('arrive also when the receiver has just closed the connection', async () => {
    const { state, url } = await countingReceiver();
    const sender = makeReusingSender();
    await post(url, sender);
    state.hangUp = true;
    expect(await post(url, sender)).toMatchObject({ status: 200, error: null });
    expect(state).toMatchObject({ connections: 2, requests: 3 });
    sender.onApplicationShutdown();
    await until(() => state.open === 0);
  });

  it('fail when the receiver hangs up on a new connection, too', async () => {
    const { state, url } = await countingReceiver();
    state.hangUp = true;
    expect(await post(url)).toMatchObject({ status: null, error: 'the connection was closed before an answer' });
    expect(state.connections).toBe(1);
  });

  it('begin anew after an answer that is no success', async () => {
    const { state, url } = await countingReceiver();
    const sender = makeSender();
    state.status = 500;
    for (let i = 0; i < 3; i++) expect(await post(url, sender)).toMatchObject({ status: 500 });
    expect(state.connections).toBe(3);
    await until(() => state.open === 0);
  });
});

describe('a receiver with TLS', () => {
  const pem = (name: string) => readFileSync(path.join(FIXTURES, 'tls', name), 'utf8');
  /** A certificate for hooks.example.com that nobody signed but itself. */
  const identity = { key: pem('key.pem'), cert: pem('certificate.pem') };
  const toLoopback = async () => ['127.0.0.1'];
  const sender = makeSender({ resolve: toLoopback });
  let asked: string[];
  let port: number;

  beforeEach(async () => {
    asked = [];
    const server = tls.createServer(
      { ...identity, SNICallback: (name, answer) => (asked.push(name), answer(null)) },
      (socket) => socket.once('data', () => socket.end('HTTP/1.1 204 No Content\r\n\r\n')),
    );
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as { port: number }).port;
    closing.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
  });

  function trustTheTestCertificate(): void {
    const connect = tls.connect.bind(tls) as (options: tls.ConnectionOptions) => tls.TLSSocket;
    jest
      .spyOn(tls, 'connect')
      .mockImplementation(((options: tls.ConnectionOptions) =>
        connect({ ...options, ca: identity.cert })) as typeof tls.connect);
  }

  it('is asked for by name and must show a certificate for that name', async () => {
    trustTheTestCertificate();

    expect(await post(`https://hooks.example.com:${port}/`, sender)).toMatchObject({ status: 204, error: null });
    expect(await post(`https://other.example.com:${port}/`, sender)).toMatchObject({
      status: null,
      error: 'the TLS certificate is for another host name',
    });
    expect(asked).toEqual(['hooks.example.com', 'other.example.com']);
  });

  it('gets nothing when its certificate is not trusted', async () => {
    expect(await post(`https://hooks.example.com:${port}/`, sender)).toMatchObject({
      status: null,
      error: 'the TLS certificate is self-signed',
    });
  });

  it.each<[string, (socket: Socket) => void, RegExp, Partial<SenderOptions>?]>([
    ['says nothing', () => undefined, /^no connection within 0\.4 s$/, { connectMs: CONNECT_MS }],
    ['answers in plain HTTP', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'), /^the connection failed \(/],
    ['hangs up in the handshake', (socket) => socket.once('data', () => socket.end()), /was closed before an answer/],
  ])('that %s ends in time', async (_name, behave, error, options = {}) => {
    const server = await hostile(behave);
    const strict = makeSender({ resolve: toLoopback, ...options });

    const [outcome, elapsed] = await timed(post(`https://hooks.example.com:${server.port}/`, strict));

    expect(outcome).toMatchObject({ status: null, error: expect.stringMatching(error) });
    expect(elapsed).toBeLessThan(HEADERS_MS + SLACK_MS);
    await until(() => server.openConnections === 0);
  });
});
