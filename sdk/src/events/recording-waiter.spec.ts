import { refusal } from '../../../test/sdk/refusal.js';
import type { RecordingView } from '../api/types.gen.js';
import { ConnectionError, TimeoutError } from '../http/errors.js';
import type { ApiRequest, Transport } from '../http/transport.js';
import { RecordingWaiter } from './recording-waiter.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const eventOf = (id: string): Uint8Array => bytes(`id: 1\nevent: e\ndata: {"recording":{"id":"${id}"}}\n\n`);

describe('RecordingWaiter', () => {
  /** When each recording was asked for, in milliseconds since the start. */
  let asked: number[];
  let answer: (id: string) => Promise<RecordingView>;
  /** Open connections of event streams. */
  let streams: { push: (data: Uint8Array) => void; signal: AbortSignal }[];
  let refusesStreams: boolean;
  let startedAt: number;
  let waiter: RecordingWaiter;

  const view = (status: string) => ({ id: 'a', status }) as RecordingView;

  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Math, 'random').mockReturnValue(1);
    [asked, streams, refusesStreams, startedAt] = [[], [], true, Date.now()];
    answer = async () => view('processing');
    const respond = async (_: ApiRequest, __: RequestInit, signal: AbortSignal) => {
      if (refusesStreams) throw refusal(403);
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          streams.push({ push: (data) => controller.enqueue(data), signal });
          signal.addEventListener('abort', () => controller.error(signal.reason), { once: true });
        },
      });
      return { body } as Response;
    };
    const transport = { maxRetries: 3, respond, reached: <T>(waiting: Promise<T>) => waiting };
    waiter = new RecordingWaiter(transport as unknown as Transport, async (id) => {
      asked.push(Date.now() - startedAt);
      return await answer(id);
    });
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);
  const begin = (options = {}) => {
    const outcome: { value?: unknown } = {};
    void waiter.wait('a', options).then(
      (value) => (outcome.value = value),
      (error: unknown) => (outcome.value = error),
    );
    return outcome;
  };

  it('asks at growing intervals, at most every ten seconds, where the stream is refused', async () => {
    const outcome = begin();
    await pass(60_000);
    const gaps = asked.map((time, i) => time - (asked[i - 1] ?? 0));
    // The refusal of the stream wakes it at once.
    expect(gaps.slice(0, 8)).toEqual([0, 1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
    expect(outcome.value).toBeUndefined();
  });

  it('asks once a stream is open, then every half a minute, and at once for an event of the recording', async () => {
    refusesStreams = false;
    const outcome = begin();
    await pass(29_999);
    expect(asked).toEqual([0]);
    await pass(1);
    expect(asked).toEqual([0, 30_000]);
    await pass(5000);
    streams[0]?.push(eventOf('another'));
    await pass(0);
    expect(asked).toHaveLength(2);
    answer = async () => view('failed');
    streams[0]?.push(eventOf('a'));
    await pass(0);
    expect(asked).toEqual([0, 30_000, 35_000]);
    expect(outcome.value).toEqual(view('failed'));
    expect(streams[0]?.signal.aborted).toBe(true);
  });

  it('shares one stream among all who wait, until the last of them ends', async () => {
    refusesStreams = false;
    const controller = new AbortController();
    begin({ signal: controller.signal });
    const second = begin({ timeout: 5000 });
    await pass(0);
    expect(streams).toHaveLength(1);
    controller.abort(new Error('enough'));
    await pass(4999);
    expect([streams[0]?.signal.aborted, second.value]).toEqual([false, undefined]);
    await pass(1);
    expect(second.value).toBeInstanceOf(TimeoutError);
    expect(second.value).toMatchObject({ message: 'The recording was not transcribed within 5000 ms.' });
    expect(streams[0]?.signal.aborted).toBe(true);
  });

  it.each([
    ['a lost connection', new ConnectionError('reset'), 6],
    ['an error of the service', refusal(500), 6],
    ['a recording that is gone', refusal(404), 1],
  ])('gives up after %s, when it comes too often', async (_, error, times) => {
    answer = () => Promise.reject(error);
    const outcome = begin();
    await pass(120_000);
    expect([outcome.value, asked.length]).toEqual([error, times]);
  });

  it('counts failures in a row', async () => {
    answer = () => (asked.length % 6 === 0 ? Promise.resolve(view('processing')) : Promise.reject(refusal(500)));
    const outcome = begin();
    await pass(300_000);
    expect(outcome.value).toBeUndefined();
    answer = async () => view('transcribed');
    await pass(10_000);
    expect(outcome.value).toEqual(view('transcribed'));
  });
});
