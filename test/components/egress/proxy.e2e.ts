import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Logger } from '@nestjs/common';
import { fetchKeys } from '../../../src/modules/token-issuers/fetch-keys.js';
import { OpenAiClient } from '../../../src/modules/transcriptions/engines/openai/openai.client.js';
import {
  type DeliveryOutcome,
  WebhookSenderService,
} from '../../../src/modules/webhooks/sending/webhook-sender.service.js';
import { OidcClientService } from '../../../src/modules/people/oidc/oidc-client.service.js';
import { type Env, readEnv } from '../../../src/platform/config/env.js';
import { AllowedNetworks } from '../../../src/platform/http/outgoing/address-rules.js';
import { Egress } from '../../../src/platform/http/outgoing/egress.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { ConnectProxy } from '../../support/servers/connect-proxy.js';
import { OpenIdProvider } from '../../support/servers/openid-provider.js';

const CREDENTIALS = 'service:p%40ss';
const PROXY_PASSWORD = 'service:p@ss';
/** What an owner of a webhook is told, which names no proxy. */
const OURS = {
  status: null,
  errorKind: 'connect',
  error: 'this service could not reach the internet; try again later',
  isOurs: true,
};

const closing: { close(): Promise<unknown> }[] = [];
let proxy: ConnectProxy;
let receiver: WebhookReceiver;

beforeAll(() => Logger.overrideLogger(false));
afterAll(() => Logger.overrideLogger(true));

beforeEach(async () => {
  proxy = await ConnectProxy.start(PROXY_PASSWORD);
  receiver = await WebhookReceiver.listen();
  closing.push(proxy, receiver);
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((one) => one.close()));
});

const variables = (others: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  SECRET_KEY: 'k'.repeat(32),
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  EGRESS_PROXY_URL: `http://${CREDENTIALS}@${proxy.address}`,
  ...others,
});
const environment = (others: NodeJS.ProcessEnv = {}): Env => readEnv(variables(others));

function senderOf(env: Env, options: ConstructorParameters<typeof WebhookSenderService>[1] = {}): WebhookSenderService {
  const sender = new WebhookSenderService(env, {
    resolve: async () => ['127.0.0.1'],
    nameErrorMs: 1,
    connectMs: 1000,
    headersMs: 1500,
    ...options,
  });
  closing.push({ close: async () => sender.onApplicationShutdown() });
  return sender;
}

const post = (sender: WebhookSenderService, url: string): Promise<DeliveryOutcome> =>
  sender.send({ url, headers: { 'webhook-id': 'e1' }, body: Buffer.from('{}') });

const failuresOf = async (env: Env) =>
  Object.fromEntries((await Egress.of(env).failures.get()).values.map(({ labels, value }) => [labels.failure, value]));

describe('a webhook through a proxy', () => {
  it('is resolved and checked here, and the proxy gets the address, its credentials and nothing of the request', async () => {
    const sender = senderOf(environment());
    const outcome = await post(sender, `http://hooks.example.com:${receiver.port}/hook?token=1`);
    expect(outcome).toMatchObject({ status: 200, error: null });
    expect(proxy.hosts).toEqual([`127.0.0.1:${receiver.port}`]);
    expect(receiver.requests).toMatchObject([
      { path: '/hook?token=1', headers: { host: `hooks.example.com:${receiver.port}` } },
    ]);
    expect(receiver.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('keeps its tunnel for the next delivery to the same origin', async () => {
    const sender = senderOf(environment());
    for (let i = 0; i < 5; i++) expect(await post(sender, receiver.url())).toMatchObject({ status: 200 });
    expect([proxy.hosts.length, receiver.requests.length]).toEqual([1, 5]);
  });

  it.each([
    ['resolves to a private address', 'http://hooks.example.com/', ['10.0.0.1'], 'dns'],
    ['resolves to a public and a private one', 'http://hooks.example.com/', ['93.184.216.34', '10.0.0.1'], 'dns'],
    ['is a private address', 'http://169.254.169.254/', [], 'refused_address'],
  ])('is refused when it %s, and the proxy is not asked', async (_, url, addresses, errorKind) => {
    const sender = senderOf(environment(), { resolve: async () => addresses });
    expect(await post(sender, url)).toMatchObject({ status: null, errorKind });
    expect(proxy.hosts).toEqual([]);
  });

  it('cannot be led elsewhere by a second answer of DNS', async () => {
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    const sender = senderOf(environment(), { resolve: async () => answers.shift() ?? [] });
    expect(await post(sender, `http://rebind.example.com:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(proxy.hosts).toEqual([`127.0.0.1:${receiver.port}`]);
    expect(answers).toHaveLength(1);
  });

  it('tries the next address of a host when the proxy cannot connect to one', async () => {
    const sender = senderOf(environment(), {
      resolve: async () => ['127.0.0.9', '127.0.0.1'],
      connectMs: 4000,
      headersMs: 5000,
    });
    expect(await post(sender, `http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(proxy.hosts).toEqual([`127.0.0.9:${receiver.port}`, `127.0.0.1:${receiver.port}`]);
  });

  it('goes on for longer than an address of several may take to connect', async () => {
    const sender = senderOf(environment(), { resolve: async () => ['127.0.0.1', '127.0.0.9'], headersMs: 5000 });
    receiver.answerAlways({ delayMs: 1500 });
    expect(await post(sender, `http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(proxy.hosts).toHaveLength(1);
  });

  it('with EGRESS_PROXY_RESOLVES is resolved by the proxy, but for addresses in URLs', async () => {
    const resolve = jest.fn(async () => []);
    const sender = senderOf(environment({ EGRESS_PROXY_RESOLVES: 'true', WEBHOOK_ALLOWED_CIDRS: '' }), { resolve });
    proxy.names.set('hooks.example.com', '127.0.0.1');
    expect(await post(sender, `http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 200 });
    expect(proxy.hosts).toEqual([`hooks.example.com:${receiver.port}`]);
    expect(resolve).not.toHaveBeenCalled();
    expect(await post(sender, receiver.url())).toMatchObject({ errorKind: 'refused_address' });
    expect(await post(sender, 'http://redis/')).toMatchObject({ errorKind: 'refused_address' });
  });

  it.each([['hooks.example.com'], ['.example.com'], ['127.0.0.0/8']])(
    'goes directly to hosts of EGRESS_NO_PROXY=%s',
    async (EGRESS_NO_PROXY) => {
      const sender = senderOf(environment({ EGRESS_NO_PROXY }));
      expect(await post(sender, `http://hooks.example.com:${receiver.port}/`)).toMatchObject({ status: 200 });
      expect(proxy.hosts).toEqual([]);
    },
  );

  it('directly is held to the same address rules', async () => {
    const sender = senderOf(environment({ EGRESS_NO_PROXY: '.example.com' }), { resolve: async () => ['10.0.0.1'] });
    expect(await post(sender, 'http://hooks.example.com/')).toMatchObject({ errorKind: 'dns' });
  });
});

describe('a failure of the receiver behind a proxy is the receiver’s', () => {
  it.each([
    [502, 'connect', 'the connection to the host failed'],
    [503, 'connect', 'the connection to the host failed'],
    [403, 'refused_address', 'the network of this service does not allow the host'],
  ])('when the proxy answers %i', async (status, errorKind, error) => {
    const env = environment();
    proxy.status = status;
    const outcome = await post(senderOf(env), receiver.url());
    expect(outcome).toMatchObject({ status: null, errorKind, error });
    expect(outcome).not.toHaveProperty('isOurs');
    expect(await failuresOf(env)).toEqual({});
  });

  it('when it refuses connections, answers nothing, or hangs up', async () => {
    const env = environment();
    const closed = await WebhookReceiver.listen();
    const refusing = closed.url();
    await closed.close();
    expect(await post(senderOf(env), refusing)).toMatchObject({
      errorKind: 'connect',
      error: 'the connection to the host failed',
    });
    receiver.answerAlways({ hang: 'headers' });
    expect(await post(senderOf(env), receiver.url())).toMatchObject({
      errorKind: 'timeout',
      error: 'no answer within 1.5 s',
    });
    receiver.answerAlways({ drop: true });
    expect(await post(senderOf(env), receiver.url())).toMatchObject({ errorKind: 'reset' });
    expect(await failuresOf(env)).toEqual({});
  });
});

describe('a failure of the proxy is ours', () => {
  it('when it refuses the credentials, which nobody is told', async () => {
    const env = environment();
    proxy.changeCredentials('service:another');
    const outcome = await post(senderOf(env), receiver.url());
    expect(outcome).toEqual({ ...OURS, response: null, retryAfter: null, durationMs: expect.any(Number) });
    expect(JSON.stringify(outcome)).not.toMatch(/p@ss|p%40ss|127\.0\.0\.1/);
    expect(await failuresOf(env)).toEqual({ credentials: 1 });
  });

  it('when it cannot be reached', async () => {
    const env = environment();
    await proxy.close();
    expect(await post(senderOf(env), receiver.url())).toMatchObject(OURS);
    expect(await failuresOf(env)).toEqual({ unreachable: 1 });
    proxy = await ConnectProxy.start();
    closing.splice(0, 1, proxy);
  });

  it('when it takes connections and answers nothing', async () => {
    const env = environment();
    proxy.isSilent = true;
    expect(await post(senderOf(env), receiver.url())).toMatchObject(OURS);
    expect(await failuresOf(env)).toEqual({ silent: 1 });
  });

  it('when it dies in the middle of an exchange', async () => {
    const env = environment();
    receiver.answerAlways({ hang: 'headers' });
    const sent = post(senderOf(env, { headersMs: 10_000 }), receiver.url());
    await receiver.waitFor((requests) => requests.length === 1);
    await proxy.close();
    expect(await sent).toMatchObject(OURS);
    proxy = await ConnectProxy.start();
    closing.splice(0, 1, proxy);
  });

  it('and is told once in the log, as its end is', async () => {
    const [error, log] = [jest.spyOn(Logger.prototype, 'error'), jest.spyOn(Logger.prototype, 'log')];
    const sender = senderOf(environment());
    proxy.changeCredentials('service:another');
    await Promise.all([
      post(sender, receiver.url()),
      post(sender, receiver.url('/b')),
      post(sender, receiver.url('/c')),
    ]);
    expect(error.mock.calls).toEqual([[{ failure: 'credentials', err: expect.any(Error) }, 'egress proxy failed']]);
    expect(JSON.stringify(error.mock.calls)).not.toContain('p@ss');
    proxy.changeCredentials(PROXY_PASSWORD);
    await post(sender, receiver.url());
    expect(log).toHaveBeenCalledWith('egress proxy works again');
    jest.restoreAllMocks();
  });
});

describe('hosts that the operator names go through the proxy by their names', () => {
  let server: Server;

  beforeEach(async () => {
    server = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"keys":[]}'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push({ close: async () => server.close() });
  });
  const port = (): number => (server.address() as AddressInfo).port;

  it('a transcription server', async () => {
    proxy.names.set('engine.internal', '127.0.0.1');
    const client = new OpenAiClient(`http://engine.internal:${port()}/v1`, null, 2, {
      egress: Egress.of(environment()),
    });
    closing.push(client);
    expect(await client.get('/models', { limitMs: 3000 })).toMatchObject({ status: 200 });
    expect(proxy.hosts).toEqual([`engine.internal:${port()}`]);
  });

  it('a transcription server of EGRESS_NO_PROXY is reached directly', async () => {
    const egress = Egress.of(environment({ EGRESS_NO_PROXY: 'localhost' }));
    const client = new OpenAiClient(`http://localhost:${port()}/v1`, null, 2, { egress });
    closing.push(client);
    expect(await client.get('/models', { limitMs: 3000 })).toMatchObject({ status: 200 });
    expect(proxy.hosts).toEqual([]);
  });

  it('a transcription server behind a proxy that failed is named with the variable', async () => {
    proxy.changeCredentials('service:another');
    const client = new OpenAiClient(`http://engine.internal:${port()}/v1`, null, 2, {
      egress: Egress.of(environment()),
    });
    closing.push(client);
    await expect(client.get('/models', { limitMs: 3000 })).rejects.toMatchObject({ code: 'EGRESS_PROXY_FAILED' });
  });

  it('an OpenID provider', async () => {
    const provider = await OpenIdProvider.listen();
    closing.push(provider);
    await provider.serve('http://127.0.0.1:1');
    const settings = provider.settings('0191d1f0-0000-7000-8000-000000000000', { default_role: 'viewer' });
    const env = environment({ OIDC_PROVIDERS: JSON.stringify([settings]) });
    const client = new OidcClientService(env);
    const { url } = await client.begin(client.providerOf('example'), 'http://127.0.0.1:1/sign-in/example/callback');
    expect(url).toContain(`${provider.issuer}/auth`);
    expect(proxy.hosts).toEqual([new URL(provider.issuer).host]);
  });

  it('keys of a token issuer by the checked address, over TLS to its name', async () => {
    const allowed = new AllowedNetworks(['127.0.0.0/8']);
    // The certificate is none that Node trusts: what counts is that it was asked for through the tunnel.
    const plain = createTcpServer((socket) => socket.once('data', (hello) => socket.end(hello.subarray(0, 1))));
    plain.listen(0, '127.0.0.1');
    await once(plain, 'listening');
    closing.push({ close: async () => plain.close() });
    const url = `https://127.0.0.1:${(plain.address() as AddressInfo).port}/keys`;
    await expect(fetchKeys(url, allowed, Egress.of(environment()))).rejects.toThrow();
    expect(proxy.hosts).toEqual([new URL(url).host]);
  });
});

describe('EGRESS_SOURCE_ADDRESSES', () => {
  const direct = { EGRESS_PROXY_URL: '', EGRESS_SOURCE_ADDRESSES: '127.0.0.5' };

  /** A server that keeps the addresses it was called from. */
  async function watching(): Promise<{ sources: (string | undefined)[]; port: number }> {
    const sources: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      sources.push(request.socket.remoteAddress);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push({ close: async () => void (server.closeAllConnections(), server.close()) });
    return { sources, port: (server.address() as AddressInfo).port };
  }

  it('are where webhooks come from, also with several addresses of the host', async () => {
    const { sources, port } = await watching();
    const sender = senderOf(environment(direct), { resolve: async () => ['127.0.0.9', '127.0.0.1'] });
    expect(await post(sender, `http://hooks.example.com:${port}/`)).toMatchObject({ status: 200 });
    expect(sources).toEqual(['127.0.0.5']);
  });

  it('are where requests to transcription servers come from', async () => {
    const { sources, port } = await watching();
    const client = new OpenAiClient(`http://localhost:${port}`, null, 2, { egress: Egress.of(environment(direct)) });
    closing.push(client);
    expect(await client.get('/models', { limitMs: 3000 })).toMatchObject({ status: 200 });
    expect(sources).toEqual(['127.0.0.5']);
  });

  it('are where connections to the proxy come from', async () => {
    const sender = senderOf(environment({ EGRESS_SOURCE_ADDRESSES: '127.0.0.6' }));
    expect(await post(sender, receiver.url())).toMatchObject({ status: 200 });
    expect(proxy.sources).toEqual(['127.0.0.6']);
  });

  it('leave out addresses of the other family', async () => {
    const sender = senderOf(environment({ ...direct, WEBHOOK_ALLOWED_CIDRS: '::1/128' }), {
      resolve: async () => ['::1'],
    });
    expect(await post(sender, 'http://hooks.example.com/')).toMatchObject({
      errorKind: 'connect',
      error: 'this service reaches none of the addresses of the host',
    });
  });

  it('must be of this machine', async () => {
    await Egress.of(environment(direct)).checkSources();
    const elsewhere = environment({ ...direct, EGRESS_SOURCE_ADDRESSES: '203.0.113.7' });
    await expect(Egress.of(elsewhere).checkSources()).rejects.toThrow(
      'EGRESS_SOURCE_ADDRESSES must be addresses of this machine: 203.0.113.7',
    );
  });
});
