import { EventEmitter } from 'node:events';
import { Client } from 'undici';
import { AllowedNetworks } from '../../../platform/http/outgoing/address-rules.js';
import { Egress } from '../../../platform/http/outgoing/egress.js';
import { DeliveryAttempt, IdleConnections, WebhookConnection } from './webhook-connection.js';

jest.mock('undici', () => ({ ...jest.requireActual<object>('undici'), Client: jest.fn() }));

const ORIGIN = 'https://hooks.example.com';
const MAX_IDLE = 200;

class FakeConnection {
  isReusable = true;
  isDestroyed = false;

  constructor(readonly origin = ORIGIN) {}

  async destroy(): Promise<void> {
    this.isDestroyed = true;
  }
}

describe('IdleConnections', () => {
  let idle: IdleConnections;

  beforeEach(() => {
    jest.useFakeTimers();
    idle = new IdleConnections();
  });
  afterEach(() => jest.useRealTimers());

  const give = (connection: FakeConnection) => idle.give(connection as unknown as WebhookConnection);

  async function given(connection = new FakeConnection()): Promise<FakeConnection> {
    await give(connection);
    return connection;
  }

  it('keep a connection for the next delivery to its origin, and for one', async () => {
    const connection = await given();
    expect(idle.take('http://hooks.example.com')).toBeNull();
    expect(idle.take(ORIGIN)).toBe(connection);
    expect(idle.take(ORIGIN)).toBeNull();
    expect(connection.isDestroyed).toBe(false);
  });

  it('close it after a second, unless it is in use by then', async () => {
    const [used, unused] = [await given(new FakeConnection('http://a')), await given()];
    jest.advanceTimersByTime(999);
    expect(unused.isDestroyed).toBe(false);
    expect(idle.take('http://a')).toBe(used);
    jest.advanceTimersByTime(1);
    expect([used.isDestroyed, unused.isDestroyed]).toEqual([false, true]);
    expect(idle.take(ORIGIN)).toBeNull();
  });

  it('close one that has become too old or was lost, and take the next', async () => {
    const [old, young] = [await given(), await given()];
    old.isReusable = false;
    expect(idle.take(ORIGIN)).toBe(young);
    expect(old.isDestroyed).toBe(true);
    const lost = new FakeConnection();
    lost.isReusable = false;
    await give(lost);
    expect(lost.isDestroyed).toBe(true);
  });

  it('are 200 at most, however many deliveries end at once', async () => {
    const kept: FakeConnection[] = [];
    for (let i = 0; i < MAX_IDLE; i++) kept.push(await given());
    const further = await given();
    expect(kept.some(({ isDestroyed }) => isDestroyed)).toBe(false);
    expect(further.isDestroyed).toBe(true);
    idle.take(ORIGIN);
    expect((await given()).isDestroyed).toBe(false);
  });

  it('are all closed at the end of the service', async () => {
    const kept = [await given(), await given(new FakeConnection('http://a'))];
    idle.closeAll();
    expect(kept.every(({ isDestroyed }) => isDestroyed)).toBe(true);
    expect(idle.take(ORIGIN)).toBeNull();
  });
});

describe('WebhookConnection', () => {
  class FakeClient extends EventEmitter {
    destroyed = false;
    readonly request = jest.fn(async () => ({ statusCode: 200 }));
    readonly destroy = jest.fn(async () => undefined);
  }
  let client: FakeClient;
  let connection: WebhookConnection;

  beforeEach(() => {
    jest.useFakeTimers();
    client = new FakeClient();
    jest
      .mocked(Client)
      .mockReset()
      .mockReturnValue(client as unknown as Client);
    connection = new WebhookConnection(ORIGIN, {
      allowed: new AllowedNetworks([]),
      resolve: async () => [],
      nameErrorMs: 1,
      egress: new Egress(),
    });
  });
  afterEach(() => jest.useRealTimers());

  it('leaves the time limits to the attempt, and takes 16 KiB of headers', () => {
    expect(jest.mocked(Client).mock.calls).toEqual([
      [
        ORIGIN,
        {
          connect: expect.any(Function),
          keepAliveTimeout: 1000,
          keepAliveMaxTimeout: 1000,
          headersTimeout: 0,
          bodyTimeout: 0,
          maxHeaderSize: 16_384,
        },
      ],
    ]);
  });

  it('can be used again while it is open, for ten seconds', () => {
    expect(connection.isReusable).toBe(false);
    client.emit('connect');
    jest.advanceTimersByTime(9999);
    expect(connection.isReusable).toBe(true);
    client.emit('disconnect');
    expect(connection.isReusable).toBe(false);
    client.emit('connect');
    client.destroyed = true;
    expect(connection.isReusable).toBe(false);
    client.destroyed = false;
    jest.advanceTimersByTime(1);
    expect(connection.isReusable).toBe(false);
  });

  it('sends a POST that ends with its attempt', async () => {
    const attempt = new DeliveryAttempt({ connectMs: 5000, headersMs: 15_000 });
    await connection.post(attempt, { path: '/hook?a=b', body: 'x' });
    const sent = { path: '/hook?a=b', body: 'x', method: 'POST', signal: attempt.signal };
    expect(client.request.mock.calls).toEqual([[sent]]);
    attempt.settle();
    await connection.destroy();
    expect(client.destroy).toHaveBeenCalledTimes(1);
  });
});

const LIMITS = { connectMs: 5000, headersMs: 15_000 };

describe('DeliveryAttempt', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const reasonOf = ({ signal }: DeliveryAttempt): unknown => signal.aborted && signal.reason;
  const timeout = (message: string) => expect.objectContaining({ kind: 'timeout', message });

  it('ends without a connection in time', () => {
    const attempt = new DeliveryAttempt(LIMITS);
    attempt.connecting();
    jest.advanceTimersByTime(4999);
    expect(reasonOf(attempt)).toBe(false);
    jest.advanceTimersByTime(1);
    expect(reasonOf(attempt)).toEqual(timeout('no connection within 5 s'));
  });

  it('ends without an answer in time, counted from its start', () => {
    const attempt = new DeliveryAttempt(LIMITS);
    jest.advanceTimersByTime(4000);
    attempt.connecting();
    attempt.connected();
    jest.advanceTimersByTime(10_999);
    expect(reasonOf(attempt)).toBe(false);
    jest.advanceTimersByTime(1);
    expect(reasonOf(attempt)).toEqual(timeout('no answer within 15 s'));
  });

  it.each([false, true])('ends when its caller cancels it, also before its start: %s', (before) => {
    const caller = new AbortController();
    if (before) caller.abort();
    const attempt = new DeliveryAttempt(LIMITS, caller.signal);
    caller.abort();
    expect(reasonOf(attempt)).toMatchObject({ kind: 'reset', message: 'the attempt was cancelled' });
  });

  it('ends for its first reason', () => {
    const attempt = new DeliveryAttempt(LIMITS);
    attempt.fail('reset', 'the service was stopped');
    jest.advanceTimersByTime(15_000);
    expect(reasonOf(attempt)).toMatchObject({ kind: 'reset', message: 'the service was stopped' });
  });

  it('is ended by nothing once it is settled, and has lasted until then', () => {
    const caller = new AbortController();
    const attempt = new DeliveryAttempt(LIMITS, caller.signal);
    attempt.connecting();
    jest.advanceTimersByTime(84);
    expect(attempt.durationMs).toBe(84);
    attempt.settle();
    jest.advanceTimersByTime(100_000);
    attempt.settle();
    caller.abort();
    expect(reasonOf(attempt)).toBe(false);
    expect(attempt.durationMs).toBe(84);
    expect(jest.getTimerCount()).toBe(0);
  });
});
