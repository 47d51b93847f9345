import { execFile } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { readEnv } from '../../../src/platform/config/env.js';
import { type Certificate, CertificateAuthority } from '../../support/servers/certificates.js';
import { ConnectProxy } from '../../support/servers/connect-proxy.js';
import { ROOT } from '../../support/paths.js';

const run = promisify(execFile);
const imported = (file: string): string => JSON.stringify(new URL(`file://${ROOT}/dist/${file}`).href);

/** Sends a webhook to `url` and asks a transcription server at `engine` for its models, with the environment of the process. */
const SCRIPT = `
  import { WebhookSenderService } from ${imported('modules/webhooks/sending/webhook-sender.service.js')};
  import { OpenAiEngine } from ${imported('modules/transcriptions/engines/openai/openai.engine.js')};
  import { Client } from 'undici';
  import { Egress } from ${imported('platform/http/outgoing/egress.js')};
  import { readEnv } from ${imported('platform/config/env.js')};
  const env = readEnv(process.env);
  const sender = new WebhookSenderService(env, { resolve: async () => ['127.0.0.1'], nameErrorMs: 1 });
  const send = (url) => sender.send({ url, headers: {}, body: Buffer.from('{}') });
  const webhooks = [await send(process.env.WEBHOOK), await send(process.env.WEBHOOK)];
  const engine = await new OpenAiEngine(env).problem();
  const certificate = { cert: env.webhookClientCert, key: env.webhookClientKey };
  const kept = new Client(new URL(process.env.OPENAI_BASE_URL).origin, { connect: Egress.of(env).connector({ timeoutMs: 1000, certificate }) });
  const read = async () => (await (await kept.request({ path: '/', method: 'GET' })).body.text());
  const later = [await read().catch(() => 'failed')];
  await new Promise((done) => setTimeout(done, 1500));
  later.push(await read().catch(() => 'failed'));
  console.log(JSON.stringify({ webhooks, engine, later }));
  process.exit();`;

describe('client certificates', () => {
  let authority: CertificateAuthority;
  let webhook: Certificate;
  let engine: Certificate;
  let proxy: ConnectProxy;
  /** Names in the certificates that the server was shown. */
  let shown: string[];
  let connections: number;
  let url: string;
  let close: () => Promise<unknown>;

  beforeAll(async () => {
    authority = new CertificateAuthority();
    [webhook, engine] = [authority.issue('voice-notes-webhooks'), authority.issue('voice-notes-engine')];
    const own = authority.issue('hooks.example.com', ['DNS:hooks.example.com', 'DNS:localhost']);
    const server = createServer({ ...own, ca: authority.cert, requestCert: true, rejectUnauthorized: true });
    server.on('request', ({ socket }: IncomingMessage, response) => {
      shown.push(String((socket as TLSSocket).getPeerCertificate().subject.CN));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
    server.on('secureConnection', () => connections++);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `https://hooks.example.com:${(server.address() as AddressInfo).port}`;
    close = async () => (server.closeAllConnections(), server.close());
    proxy = await ConnectProxy.start('service:secret', { tls: authority.issue('proxy', ['DNS:localhost']) });
  });
  beforeEach(() => {
    [shown, connections] = [[], 0];
    proxy.hosts.length = 0;
  });
  afterAll(async () => {
    await Promise.all([proxy.close(), close()]);
    authority.remove();
  });

  const both = (): NodeJS.ProcessEnv => ({
    WEBHOOK_CLIENT_CERT: webhook.cert,
    WEBHOOK_CLIENT_KEY: webhook.key,
    OPENAI_CLIENT_CERT: engine.cert,
    OPENAI_CLIENT_KEY: engine.key,
  });
  const variables = (others: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
    PATH: process.env.PATH,
    NODE_ENV: 'test',
    NODE_EXTRA_CA_CERTS: authority.certFile,
    DATABASE_URL: 'postgres://unused',
    REDIS_URL: 'redis://unused',
    SECRET_KEY: 'k'.repeat(32),
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    OPENAI_BASE_URL: `${url.replace('hooks.example.com', 'localhost')}/v1`,
    WEBHOOK: `${url}/hook`,
    ...others,
  });

  async function outcomes(others: NodeJS.ProcessEnv) {
    const args = ['--no-warnings', '--input-type=module', '--eval', SCRIPT];
    const { stdout } = await run(process.execPath, args, { cwd: ROOT, env: variables(others) });
    return JSON.parse(stdout) as {
      webhooks: { status: number | null; error: string | null }[];
      engine: string | null;
      later: string[];
    };
  }

  it('are shown to receivers and to the transcription server, each its own', async () => {
    const { webhooks, engine: problem, later } = await outcomes(both());
    expect([webhooks.map(({ status }) => status), problem]).toEqual([[200, 200], null]);
    expect(later).toEqual(['{}', '{}']);
    const twice = ['voice-notes-webhooks', 'voice-notes-webhooks'];
    expect(shown).toEqual([...twice, 'voice-notes-engine', ...twice]);
    expect(connections).toBe(3);
  });

  it('are shown through a proxy with TLS, which sees neither', async () => {
    const { port } = proxy;
    const {
      webhooks,
      engine: problem,
      later,
    } = await outcomes({
      ...both(),
      EGRESS_PROXY_URL: `https://service:secret@localhost:${port}`,
    });
    expect([webhooks.map(({ status }) => status), problem]).toEqual([[200, 200], null]);
    // The time for a connection is over, which goes on.
    expect(later).toEqual(['{}', '{}']);
    const twice = ['voice-notes-webhooks', 'voice-notes-webhooks'];
    expect(shown).toEqual([...twice, 'voice-notes-engine', ...twice]);
    const at = new URL(url).port;
    expect(proxy.hosts).toEqual([`127.0.0.1:${at}`, `localhost:${at}`, `localhost:${at}`]);
  });

  it('are not there without the variables', async () => {
    const { webhooks, engine: problem } = await outcomes({});
    expect(webhooks).toEqual(Array(2).fill(expect.objectContaining({ status: null })));
    expect(problem).toMatch(/cannot be used/);
    expect(shown).toEqual([]);
  });

  it.each([
    ['WEBHOOK_CLIENT_CERT needs WEBHOOK_CLIENT_KEY', { WEBHOOK_CLIENT_KEY: '' }],
    ['OPENAI_CLIENT_KEY needs OPENAI_CLIENT_CERT', { OPENAI_CLIENT_CERT: '' }],
    ['WEBHOOK_CLIENT_CERT must be a certificate as PEM', { WEBHOOK_CLIENT_CERT: 'none' }],
    ['WEBHOOK_CLIENT_KEY must be a key without a passphrase as PEM', { WEBHOOK_CLIENT_KEY: 'none' }],
    ['OPENAI_CLIENT_CERT needs an OPENAI_BASE_URL that starts with https://', { OPENAI_BASE_URL: 'http://engine/v1' }],
  ])('%s', (problem, others) => {
    expect(() => readEnv(variables({ ...both(), ...others }))).toThrow(problem);
  });

  it('must be the keys of their certificates, and not the same for both', () => {
    const swapped = { ...both(), WEBHOOK_CLIENT_KEY: engine.key };
    expect(() => readEnv(variables(swapped))).toThrow(
      'WEBHOOK_CLIENT_KEY must be the key of the certificate in WEBHOOK_CLIENT_CERT',
    );
    const same = { ...both(), OPENAI_CLIENT_CERT: webhook.cert, OPENAI_CLIENT_KEY: webhook.key };
    expect(() => readEnv(variables(same))).toThrow('WEBHOOK_CLIENT_CERT must differ from OPENAI_CLIENT_CERT');
  });
});
