import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, Registry } from 'prom-client';
import request from 'supertest';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { startService, useService } from '../../src/testing/test-service.js';
import { HealthService } from '../../src/platform/observability/health.service.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { expectNoConnections, expectNothingKept } from '../support/http/expect-unharmed.js';
import { filePart, form, FORM_TYPE } from '../support/http/multipart.js';
import { exchange, head, type Header, RawConnection } from '../support/http/clients/raw-http.js';
import { uploadState } from '../support/state/upload-state.js';

const JSON_TYPE: Header = ['Content-Type', 'application/json'];
const PER_ADDRESS = 24;
const SETTINGS = {
  ROLES: 'api',
  MAX_PIPELINED_REQUESTS: '6',
  MAX_CONNECTIONS_PER_ADDRESS: `${PER_ADDRESS}`,
  TRANSFER_GRACE_SECONDS: '1',
  WRITE_TIMEOUT_SECONDS: '1',
};

describe('a connection (D50)', () => {
  let client: ApiClient;

  const service = useService(SETTINGS);
  const { environment } = service;

  beforeEach(async () => {
    client = await service.account();
  });
  afterEach(() => RawConnection.destroyAll());

  const requestOf = (method: string, path: string, ...more: Header[]): string =>
    head(method, path, [...Object.entries(client.headers), ...more]);

  async function hitsOf(limit: string): Promise<number> {
    const { text } = await request(service.url).get('/metrics').expect(200);
    return Number(new RegExp(`^http_connection_limit_hits_total\\{limit="${limit}"\\} (\\d+)$`, 'm').exec(text)?.[1]);
  }

  describe('that sends requests before earlier ones are answered', () => {
    it('has them handled one after another', async () => {
      const body = JSON.stringify({ name: 'made in front' });
      const connection = await RawConnection.open(service.url);
      await connection.send(
        requestOf('POST', '/v1/account/api-keys', JSON_TYPE, ['Content-Length', body.length]) +
          body +
          requestOf('GET', '/v1/account/api-keys') +
          requestOf('GET', '/v1/nowhere') +
          requestOf('HEAD', '/health/live') +
          requestOf('GET', '/health/live', ['Connection', 'close']),
      );

      expect(await connection.answer()).toMatchObject({ status: 201, body: { name: 'made in front' } });
      const { body: list } = await connection.answer();
      expect(list.api_keys[0]).toMatchObject({ name: 'made in front' });
      expect(await connection.answer()).toMatchObject({ status: 404 });
      await eventually(() => connection.unread.includes('{"status":"ok"}'));
      expect(connection.unread.match(/^HTTP\/1\.1 200 OK/gm)).toHaveLength(2);
      connection.end();
      await connection.closed;
    });

    it('is closed when it sends more than MAX_PIPELINED_REQUESTS, and nobody waits meanwhile', async () => {
      const before = await hitsOf('pipelined_requests');
      const memory = process.memoryUsage().rss;
      let parsed = 0;
      service.app.getHttpServer().on('request', () => parsed++);
      const attackers = await Promise.all(Array.from({ length: 6 }, () => RawConnection.open(service.url)));
      for (const attacker of attackers) attacker.stopReading();
      await Promise.all(attackers.map((attacker) => attacker.send(head('GET', '/openapi.json').repeat(1700))));

      await client.get('/v1/account').expect(200);
      await expectNoConnections(service, 5000);
      expect(await hitsOf('pipelined_requests')).toBe(before + attackers.length);
      // Node would parse all 10,200, and everybody would wait meanwhile.
      expect(parsed).toBeLessThan(300);
      // 1 GB when the responses were kept.
      expect(process.memoryUsage().rss - memory).toBeLessThan(150_000_000);
    });
  });

  it('is closed when its client does not read for WRITE_TIMEOUT_SECONDS', async () => {
    const before = await hitsOf('write_timeout');
    const connection = await RawConnection.open(service.url);
    connection.stopReading();
    // More than the buffers of the kernel take.
    await connection.send(head('GET', '/docs/swagger-ui-bundle.js').repeat(6));
    await expectNoConnections(service, 6000);
    expect(await hitsOf('write_timeout')).toBe(before + 1);
  });

  it('whose JSON body never comes, stops or comes byte by byte gets 408 after TRANSFER_GRACE_SECONDS', async () => {
    const slow: [first: string, drip: string | null][] = [
      ['', null],
      ['{"url":"https://', null],
      ['{', ' '],
    ];
    const answers = await Promise.all(
      slow.map(async ([first, drip]) => {
        const connection = await RawConnection.open(service.url);
        await connection.send(requestOf('POST', '/v1/webhooks', JSON_TYPE, ['Content-Length', 5000]) + first);
        const dripping = drip === null ? null : connection.flood(Buffer.from(drip), 50, 10_000);
        const answer = await connection.answer(6000);
        await dripping;
        return answer;
      }),
    );
    const refusal = {
      status: 408,
      headers: { connection: 'close' },
      body: {
        error: {
          code: 2002,
          type: 'MalformedRequestError',
          message: 'The body arrived too slowly: at least 1000 bytes a second are required after 1 seconds.',
        },
      },
    };
    expect(answers).toMatchObject(slow.map(() => refusal));
    expect(answers.filter(({ afterMs }) => afterMs < 900 || afterMs > 5000)).toEqual([]);
    await expectNoConnections(service, 4000);
  });

  it('that uploads more slowly than MIN_TRANSFER_RATE gets 408, and one that is just quicker is accepted', async () => {
    const start = (length: number): string =>
      requestOf('POST', '/v1/recordings', ['Content-Type', FORM_TYPE], ['Content-Length', length]);
    const before = await uploadState(service, environment);

    const tooSlow = async (): Promise<void> => {
      const connection = await RawConnection.open(service.url);
      await connection.send(start(20_000));
      await connection.send(filePart(silenceWav(0.1)));
      const dripping = connection.flood(Buffer.alloc(20), 100, 10_000);
      expect(await connection.answer(10_000)).toMatchObject({ status: 408, body: { error: { code: 2002 } } });
      await dripping;
    };
    const slow = async (): Promise<void> => {
      const bytes = form(filePart(silenceWav(0.5)));
      const connection = await RawConnection.open(service.url);
      await connection.send(start(bytes.length));
      for (let at = 0; at < bytes.length; at += 400) {
        await connection.send(bytes.subarray(at, at + 400));
        await delay(100);
      }
      const answer = await connection.answer();
      expect(answer).toMatchObject({ status: 201 });
      expect(answer.afterMs).toBeGreaterThan(3000);
      await client.delete(`/v1/recordings/${answer.body.id}`).expect(204);
      connection.destroy();
    };
    await Promise.all([tooSlow(), slow()]);
    await expectNothingKept(service, environment, before);
  });

  describe('of an address that has MAX_CONNECTIONS_PER_ADDRESS', () => {
    it('is answered with 429, until another is closed', async () => {
      await expectNoConnections(service);
      const open = await Promise.all(Array.from({ length: PER_ADDRESS }, () => RawConnection.open(service.url)));
      await Promise.all(open.map((connection) => connection.send(requestOf('GET', '/v1/account'))));
      for (const connection of open) expect((await connection.answer()).status).toBe(200);

      const refused = await exchange(service.url);
      expect(refused).toMatchObject({
        status: 429,
        headers: { connection: 'close', 'retry-after': '1' },
        body: { success: false, error: { code: 4003, type: 'RateLimitError', details: { retry_after: 1 } } },
      });
      expect(refused.body.error.message).toContain(`${PER_ADDRESS} connections`);

      open.pop()?.destroy();
      await eventually(async () => (await exchange(service.url, requestOf('GET', '/v1/account'))).status === 200);
      expect(await hitsOfOpen(open)).toBeGreaterThan(0);
    });

    /** Makes room for the question. */
    async function hitsOfOpen(open: RawConnection[]): Promise<number> {
      for (const connection of open) connection.destroy();
      await expectNoConnections(service);
      return await hitsOf('connections_per_address');
    }

    it('is accepted from a proxy that TRUST_PROXY names', async () => {
      const proxied = await startService(environment, { ...SETTINGS, TRUST_PROXY: '127.0.0.1' });
      try {
        const open = await Promise.all(Array.from({ length: PER_ADDRESS + 3 }, () => RawConnection.open(proxied.url)));
        await Promise.all(open.map((connection) => connection.send(head('GET', '/health/live'))));
        for (const connection of open) expect((await connection.answer()).status).toBe(200);
        RawConnection.destroyAll();
      } finally {
        await proxied.close();
      }
    });
  });
});

describe('responses that are built for everybody', () => {
  const service = useService({ ROLES: 'api' });

  const many = async (path: string, headers: Record<string, string> = {}) =>
    await Promise.all(Array.from({ length: 20 }, () => fetch(service.url + path, { headers })));

  it('/metrics is built once for concurrent requests', async () => {
    let builds = 0;
    const slow = new Gauge({
      name: 'test_slow',
      help: 'Slow.',
      registers: [service.app.get(Registry)],
      async collect() {
        builds++;
        await delay(500);
        slow.set(builds);
      },
    });
    const answers = await many('/metrics');
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(builds).toBe(1);
    for (const answer of answers) expect(await answer.text()).toContain('test_slow 1');
    expect(await (await fetch(`${service.url}/metrics`)).text()).toContain('test_slow 2');
  });

  it('/health/ready tells strangers the status only, at most a second old', async () => {
    let checks = 0;
    let problem: string | null = null;
    service.app.get(HealthService).require('counted', async () => {
      checks++;
      return await Promise.resolve(problem);
    });
    const stranger = { 'X-Forwarded-For': '203.0.113.9' };
    const ask = (headers: Record<string, string> = {}) => fetch(`${service.url}/health/ready`, { headers });

    for (let i = 0; i < 5; i++) {
      for (const answer of await many('/health/ready', stranger)) expect(await answer.json()).toEqual({ status: 'ok' });
    }
    expect(checks).toBeLessThanOrEqual(3);

    problem = 'a secret of the operator';
    const local = await ask();
    expect([local.status, await local.json()]).toMatchObject([503, { checks: { counted: problem } }]);
    await eventually(async () => (await ask(stranger)).status === 503, 15_000);
    expect(await (await ask(stranger)).json()).toEqual({ status: 'unavailable' });
    problem = null;
  });
});
