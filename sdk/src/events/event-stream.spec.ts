import { refusal } from '../../../test/sdk/refusal.js';
import { ConnectionError, TimeoutError } from '../http/errors.js';
import type { ApiRequest, Transport } from '../http/transport.js';
import { EventStream, type StreamOptions } from './event-stream.js';

describe('EventStream', () => {
  /** Requests, and when each was sent, in milliseconds since the start. */
  let requests: (Pick<ApiRequest, 'query' | 'headers'> & { at: number })[];
  /** How the next attempts to connect fail; the others succeed. */
  let failures: Error[];
  let connection: { push: (text: string) => void; close: () => void; signal: AbortSignal } | null;
  let startedAt: number;
  let states: string[];
  let received: unknown[];
  let ended: { error?: unknown } | null;

  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Math, 'random').mockReturnValue(1);
    [requests, failures, connection, startedAt] = [[], [], null, Date.now()];
    [states, received, ended] = [[], [], null];
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  function open(options: StreamOptions = {}): void {
    const respond = async ({ query, headers }: ApiRequest, _: RequestInit, signal: AbortSignal) => {
      requests.push({ query, headers, at: Date.now() - startedAt });
      const failure = failures.shift();
      if (failure) throw failure;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          const push = (text: string) => controller.enqueue(new TextEncoder().encode(text));
          connection = { push, close: () => controller.close(), signal };
          signal.addEventListener('abort', () => controller.error(signal.reason), { once: true });
        },
      });
      return { body } as Response;
    };
    const reached = <T>(waiting: Promise<T>) => waiting;
    const transport = { maxRetries: 2, respond, reached } as unknown as Transport;
    const onState = ({ state }: { state: string }) => void states.push(state);
    const stream = new EventStream(transport, { onState, ...options });
    void (async () => {
      try {
        for await (const event of stream.events()) received.push(event);
        ended = {};
      } catch (error) {
        ended = { error };
      }
    })();
  }

  it.each([
    [{}, 'latest'],
    [{ after: 0 }, 0],
    [{ after: '17' }, '17'],
  ])('begins as %j says', async (options, after) => {
    open(options);
    await pass(0);
    expect(requests).toEqual([{ query: { after }, headers: { Accept: 'text/event-stream' }, at: 0 }]);
    expect(states).toEqual(['open']);
  });

  it('reconnects with the id of the last message, also of one that is no event', async () => {
    open();
    await pass(0);
    connection?.push('retry: 700\nid: 7\n\n');
    await pass(0);
    connection?.close();
    await pass(699);
    expect(requests).toHaveLength(1);
    await pass(1);
    expect(requests[1]).toEqual({
      query: undefined,
      headers: { Accept: 'text/event-stream', 'Last-Event-ID': '7' },
      at: 700,
    });
    connection?.push('id: 8\nevent: recording.failed\ndata: {"a":1}\n\n');
    await pass(0);
    expect(received).toEqual([{ event: 'recording.failed', sequence: 8, body: { a: 1 } }]);
    connection?.close();
    await pass(700);
    expect(requests[2]?.headers).toMatchObject({ 'Last-Event-ID': '8' });
    expect(states).toEqual(['open', 'waiting', 'open', 'waiting', 'open']);
  });

  it('treats a connection as lost after a minute without data', async () => {
    open();
    await pass(59_999);
    connection?.push(':\n\n');
    await pass(59_999);
    expect(connection?.signal.aborted).toBe(false);
    await pass(1);
    expect(connection?.signal.reason).toBeInstanceOf(TimeoutError);
    await pass(500);
    expect(requests).toHaveLength(2);
  });

  it('waits longer after each failure in a row, never gives up once it was open, and honours Retry-After', async () => {
    open();
    await pass(0);
    failures = [new ConnectionError(''), new ConnectionError(''), new ConnectionError(''), refusal(429, 3)];
    connection?.push('retry: 100\n\n');
    await pass(0);
    connection?.close();
    await pass(60_000);
    const gaps = requests.map(({ at }, i) => at - (requests[i - 1]?.at ?? 0));
    expect(gaps).toEqual([0, 100, 1000, 2000, 4000, 3500]);
    expect(ended).toBeNull();
    connection?.push('id: 1\n\n');
    await pass(0);
    connection?.close();
    await pass(100);
    expect(requests).toHaveLength(7);
  });

  it.each([
    ['cannot be reached in the first place', Array.from({ length: 9 }, () => new ConnectionError('')), 3],
    ['refuses', [refusal(401)], 1],
  ])('ends with the error when the service %s', async (_, errors, attempts) => {
    const [first] = errors;
    failures = errors;
    open();
    await pass(60_000);
    expect(requests).toHaveLength(attempts);
    expect(ended?.error).toEqual(first);
  });

  it('ends without an error, and at once, when it is told to', async () => {
    const started = jest.spyOn(globalThis, 'setTimeout');
    const cleared = jest.spyOn(globalThis, 'clearTimeout');
    const controller = new AbortController();
    const idleTimeout = 54_321;
    open({ signal: controller.signal, idleTimeout });
    await pass(0);
    controller.abort();
    await pass(0);
    expect(ended).toEqual({});
    expect(connection?.signal.aborted).toBe(true);
    expect(requests).toHaveLength(1);
    // By their time: the test runner starts timers too.
    const timers = started.mock.results.filter((_, i) => started.mock.calls[i]?.[1] === idleTimeout);
    expect(timers).not.toEqual([]);
    for (const { value } of timers) expect(cleared.mock.calls.flat()).toContain(value);
  });
});
