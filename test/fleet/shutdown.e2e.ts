import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { silenceWav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { rowOf, useFleet } from '../support/service/fleet.js';
import { engineProcesses, isRunning } from '../support/service/process-stats.js';
import { failRecordings } from '../support/state/recording-events.js';
import { eventually } from '../../src/testing/eventually.js';
import { reportMeasurement } from '../support/service/measurements.js';
import type { ServiceProcess } from '../support/service/service-process.js';
import type { TcpProxy } from '../support/servers/tcp-proxy.js';
import { longRecording } from '../support/audio/long-recording.js';
import { filePart, form, FORM_TYPE } from '../support/http/multipart.js';
import { type Answer, RawConnection } from '../support/http/clients/raw-http.js';
import { useService } from '../../src/testing/test-service.js';
import { uploadState } from '../support/state/upload-state.js';

/** What an orderly stop may take: after that the service ends by itself with exit code 1. */
const STOP_MS = 10_000;
/** Requests in progress may take so long of it. */
const CLOSE_MS = 4000;
/** On a busy machine the test may be too slow for `CLOSE_MS`. */
const TRIES = 3;

const service = useService({ ROLES: 'api' });
const { environment } = service;
const fleet = useFleet({ environment });
/** Looks into the tables, and takes uploads that nobody else is there for. */
let client: ApiClient;

beforeAll(async () => {
  client = await service.account();
});

/** Of an unlimited account, with a process of its own. */
const countedAt = async ({ url }: ServiceProcess): Promise<ApiClient> => (await service.account()).at(url);
const isHeld = (id: string) => eventually(async () => (await rowOf(service, id)).held);
const LEFT = { status: 'processing', attempt: 0, held: false };

async function usesOf({ accountId }: ApiClient): Promise<number> {
  const [row] = await service.database.query<{ uses: number }>(
    'SELECT sum(usage_count)::int AS uses FROM api_keys WHERE account_id = $1',
    [accountId],
  );
  return row?.uses ?? -1;
}

/** An upload of which only the first half has been sent. */
async function halfUpload(url: string, from: ApiClient) {
  const body = form(filePart(silenceWav(0.5)));
  const headers = { ...from.headers, Host: 'x', 'Content-Type': FORM_TYPE, 'Content-Length': `${body.length}` };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const connection = await RawConnection.open(url);
  await connection.send(`POST /v1/recordings HTTP/1.1\r\n${head.join('')}\r\n`);
  const half = Math.floor(body.length / 2);
  await connection.send(body.subarray(0, half));
  // The service is at it: nobody is let in before his key was looked at.
  await eventually(async () => (await uploadState(service, environment)).spooled.length > 0);
  return { connection, rest: body.subarray(half) };
}

/** Stops an API process after 40 requests, in the middle of an upload whose rest is sent once it listens no more. */
async function stopDuringUpload(tries = TRIES): Promise<{
  counted: ApiClient;
  answer: Answer;
  /** Open on this side. */
  connection: RawConnection;
  ended: ReturnType<ServiceProcess['end']>;
}> {
  const api = await fleet.process('api');
  const counted = await countedAt(api);
  await Promise.all(Array.from({ length: 40 }, () => counted.get('/v1/account').expect(200)));
  const { connection, rest } = await halfUpload(api.url, counted);
  const asked = connection.age;
  const ended = api.end('SIGTERM');
  await eventually(async () => !(await api.isListening()));
  await connection.send(rest);
  try {
    return { counted, answer: await connection.answer(2 * CLOSE_MS), connection, ended };
  } catch (error) {
    connection.destroy();
    const isTooLate = (connection.endedAfterMs ?? 0) - asked >= CLOSE_MS;
    if (!isTooLate || tries === 1) throw error;
    return await stopDuringUpload(tries - 1);
  }
}

describe('the built service', () => {
  it('starts with both roles in one process, does the main job, and ends with exit code 0', async () => {
    const both = await fleet.process('api,worker');
    const note = client.at(both.url);
    const { body } = await note.upload('go-forward-ten-meters.ogg').expect(201);
    await eventually(async () => (await rowOf(service, body.id)).status !== 'processing', 90_000);
    const { body: transcription } = await note.get(`/v1/recordings/${body.id}/transcription`).expect(200);
    expect(transcription.text).toBe('go forward ten meters');
    const children = engineProcesses(both.pid);
    expect(children.length).toBeGreaterThan(0);
    const { code, ms } = await both.end('SIGINT');
    reportMeasurement(`a service with both roles, at rest, ended after ${ms} ms`);
    expect(code).toBe(0);
    expect(children.filter(isRunning)).toEqual([]);
  });
});

describe('SIGTERM', () => {
  it('releases a long recording and a delivery that hangs, both without an attempt, and records one that ends in time', async () => {
    const [slow, hanging] = await Promise.all([fleet.receiver(), fleet.receiver()]);
    slow.answerAlways({ delayMs: 1500 });
    hanging.answerAlways({ hang: 'headers' });
    const worker = await fleet.process('worker');
    const { body } = await client.upload(await longRecording(6)).expect(201);
    await isHeld(body.id);
    const children = await eventually(() => engineProcesses(worker.pid));
    const owners = await Promise.all(
      [slow, hanging].map(async (receiver) => {
        const owner = await service.account();
        await owner.post('/v1/webhooks', { url: receiver.url(), events: ['recording.failed'] }).expect(201);
        return owner;
      }),
    );
    await Promise.all(owners.toReversed().map(({ accountId }) => failRecordings(service, accountId, 1)));
    await Promise.all([slow, hanging].map((receiver) => receiver.waitFor(({ length }) => length === 1)));
    const { code, ms } = await worker.end('SIGTERM');
    reportMeasurement(`a worker in the middle of a note of 66 s and a delivery that hangs ended after ${ms} ms`);
    expect({ code, ...(await rowOf(service, body.id)) }).toMatchObject({ code: 0, ...LEFT });
    expect(children.filter(isRunning)).toEqual([]);
    const deliveries = await Promise.all(
      owners.map(({ accountId }) =>
        service.database.query('SELECT status, attempts, lease_token FROM deliveries WHERE account_id = $1', [
          accountId,
        ]),
      ),
    );
    expect(deliveries.flat()).toEqual([
      { status: 'delivered', attempts: 1, lease_token: null },
      { status: 'pending', attempts: 0, lease_token: null },
    ]);

    await fleet.service('transcriber');
    await isHeld(body.id);
    expect((await rowOf(service, body.id)).attempt).toBe(1);
    await client.delete(`/v1/recordings/${body.id}`).expect(204);
  });

  it('takes no more connections, lets an upload under way end, does not keep its connection, and loses no uses of keys (D13)', async () => {
    const { counted, answer, connection, ended } = await stopDuringUpload();
    expect(answer.status).toBe(201);
    expect(await rowOf(service, answer.body.id)).toMatchObject({ status: 'processing' });
    expect((await ended).code).toBe(0);
    connection.destroy();
    expect(await usesOf(counted)).toBe(41);
  });

  it('is not held up by a client that stops sending: exit code 0 in time, no recording, no use lost', async () => {
    const api = await fleet.process('api');
    const counted = await countedAt(api);
    const before = await uploadState(service, environment);
    const { connection } = await halfUpload(api.url, counted);
    const { code, ms } = await api.end('SIGTERM');
    reportMeasurement(`an API process with a client that stopped sending ended after ${ms} ms`);
    expect(code).toBe(0);
    connection.destroy();
    expect(await usesOf(counted)).toBe(1);
    // The next sweep removes the spool file.
    const { spooled } = await uploadState(service, environment);
    expect(await uploadState(service, environment)).toEqual({ ...before, spooled });
  });

  it.each<[string, (proxy: TcpProxy) => Promise<void> | void]>([
    ['away', (proxy) => proxy.cut()],
    ['frozen', (proxy) => proxy.freeze()],
  ])('ends in time while Redis is %s, and loses nothing', async (state, disturb) => {
    const proxy = await fleet.proxyTo('REDIS_URL');
    const both = await fleet.process('api,worker', { REDIS_URL: proxy.url });
    const counted = await countedAt(both);
    await counted.get('/v1/account').expect(200);
    const { body } = await counted.upload(await longRecording(6)).expect(201);
    await isHeld(body.id);
    await disturb(proxy);
    await counted.get('/v1/account').expect(200);
    const { code, ms } = await both.end('SIGTERM');
    reportMeasurement(`with Redis ${state}, a service in the middle of a note ended after ${ms} ms`);
    expect({ code, ...(await rowOf(service, body.id)) }).toMatchObject({ code: 0, ...LEFT });
    expect(await usesOf(counted)).toBe(3);
    await counted.at(service.url).delete(`/v1/recordings/${body.id}`).expect(204);
  });

  it('ends in time while Postgres is frozen: what it held is taken up when the lease is over', async () => {
    const proxy = await fleet.proxyTo('DATABASE_URL');
    const both = await fleet.process('api,worker', { DATABASE_URL: proxy.url });
    proxy.freeze();
    const { ms } = await both.end('SIGTERM');
    // Less than the 15 s after which it gives a statement up.
    expect(ms).toBeLessThan(STOP_MS + 4000);
  });
});

describe('SHUTDOWN_DELAY_SECONDS', () => {
  const DELAY_MS = 3000;
  const overrides = { SHUTDOWN_DELAY_SECONDS: `${DELAY_MS / 1000}` };

  it('has an API process serve while it is not ready, without keeping connections, and then stops it in order', async () => {
    const api = await fleet.process('api', overrides);
    const agent = new Agent({ keepAlive: true });
    const ask = async (path: string) => {
      const [response] = (await once(get(api.url + path, { agent, headers: client.headers }), 'response')) as [
        IncomingMessage,
      ];
      const body = await text(response);
      return { status: response.statusCode, connection: response.headers.connection, body };
    };
    expect(await ask('/v1/account')).toMatchObject({ status: 200, connection: 'keep-alive' });
    const ended = api.end('SIGTERM');
    const notReady = await eventually(async () => {
      const answer = await ask('/health/ready');
      return answer.status === 503 && answer;
    });
    expect(JSON.parse(notReady.body)).toMatchObject({
      status: 'unavailable',
      checks: { postgres: 'ok', shutdown: 'the process is stopping' },
    });
    expect(await ask('/health/live')).toMatchObject({ status: 200 });
    expect(await ask('/v1/account')).toMatchObject({ status: 200, connection: 'close' });
    const { body } = await client.at(api.url).upload('go-forward-ten-meters.ogg').expect(201);
    expect(await rowOf(service, body.id)).toMatchObject({ status: 'processing' });
    const { code, ms } = await ended;
    expect(code).toBe(0);
    expect(ms).toBeGreaterThanOrEqual(DELAY_MS);
    await client.delete(`/v1/recordings/${body.id}`).expect(204);
  });

  it('does not delay a process that no proxy sends requests to, nor a second signal', async () => {
    const long = { SHUTDOWN_DELAY_SECONDS: '300' };
    const [worker, api] = await Promise.all([fleet.process('worker', long), fleet.process('api', long)]);
    expect((await worker.end('SIGTERM')).code).toBe(0);
    const ended = api.end('SIGTERM');
    await eventually(async () => (await fetch(`${api.url}/health/ready`)).status === 503);
    api.signal('SIGTERM');
    expect((await ended).code).toBe(1);
  });
});

describe('a second signal', () => {
  it('stops at once, with exit code 1', async () => {
    const api = await fleet.process('api');
    const { connection } = await halfUpload(api.url, client);
    const ended = api.end('SIGTERM');
    await eventually(async () => !(await api.isListening()));
    const asked = performance.now();
    api.signal('SIGTERM');
    const { code } = await ended;
    expect(code).toBe(1);
    expect(performance.now() - asked).toBeLessThan(8000);
    connection.destroy();
  });
});
