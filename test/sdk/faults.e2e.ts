import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ApiError,
  ConnectionError,
  InvalidResponseError,
  isApiError,
  TimeoutError,
  type UploadProgress,
  VoiceNotes,
  type ClientOptions,
} from 'vnotes';
import { eventually } from '../../src/testing/eventually.js';
import {
  afterBody,
  answer,
  broken,
  drop,
  type Fault,
  FaultServer,
  refusal,
  stalled,
} from '../support/servers/fault-server.js';

const OK = answer(200, { id: 'x', plan: 'free' });
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

describe('the client library on a bad network', () => {
  let server: FaultServer;
  beforeAll(async () => {
    server = await FaultServer.start();
  });
  afterAll(() => server.close());
  // The shortest waits that the jitter allows.
  beforeEach(() => {
    jest.spyOn(Math, 'random').mockReturnValue(0);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const clientOf = (options: Partial<ClientOptions> = {}): VoiceNotes =>
    new VoiceNotes({ baseUrl: server.url, key: 'vnk_x', secret: 'vns_x', timeout: 10_000, ...options });
  const errorOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      (value) => value,
      (error: unknown) => error,
    );

  it.each<[string, Fault, number?]>([
    ['is closed before the answer', drop],
    ['breaks off in the headers', broken('HTTP/1.1 200 OK\r\nContent-Le')],
    ['breaks off in the body', broken(`${HEAD}Content-Length: 100\r\n\r\n{"id":`)],
    ['breaks off in a chunk', broken(`${HEAD}Transfer-Encoding: chunked\r\n\r\n10\r\n{"id":`)],
    ['ends without a length in the middle of the JSON', broken(`${HEAD}Connection: close\r\n\r\n{"id":`)],
    ['stalls before the answer', stalled(), 2000],
    ['stalls in the body', stalled(`${HEAD}Content-Length: 100\r\n\r\n{"id":`), 2000],
    ['has an answer that is no HTTP', broken('SSH-2.0-OpenSSH_9.2\r\n')],
  ])('repeats a request when the connection %s', async (_name, fault, timeout = 10_000) => {
    server.answer(fault, OK);
    expect(await clientOf({ timeout }).account.get()).toMatchObject({ id: 'x' });
    expect(server.requests).toHaveLength(2);
    server.answer(fault);
    const error = await errorOf(clientOf({ timeout: 300, maxRetries: 0 }).account.get());
    expect(error instanceof ConnectionError || error instanceof TimeoutError).toBe(true);
  });

  it.each<[string, Fault]>([
    ['408', refusal(408, 'MalformedRequestError')],
    ['429', refusal(429, 'RateLimitError', { retry_after: 0 }, { 'Retry-After': '0' })],
    ['500', refusal(500, 'InternalError')],
    ['502 with a page of a proxy', answer(502, '<h1>Bad gateway</h1>', { 'Content-Type': 'text/html' })],
    ['503', refusal(503, 'ServiceUnavailableError', {}, { 'Retry-After': '0' })],
  ])('repeats a request that was answered with %s', async (_name, fault) => {
    server.answer(fault, fault, OK);
    expect(await clientOf().account.get()).toMatchObject({ id: 'x' });
    expect(server.requests).toHaveLength(3);
  });

  it('waits as long as Retry-After says, as seconds and as a date, but no longer than two minutes', async () => {
    const date = new Date(Date.now() + 2500).toUTCString();
    for (const header of ['1', date]) {
      server.answer(refusal(429, 'RateLimitError', {}, { 'Retry-After': header }), OK);
      const start = performance.now();
      await clientOf().account.get();
      expect(performance.now() - start).toBeGreaterThan(950);
    }
    server.answer(
      refusal(429, 'RateLimitError', { retry_after: 500 }, { 'Retry-After': '500', 'X-Request-Id': 'r-1' }),
    );
    const error = await errorOf(clientOf().account.get());
    expect(error).toMatchObject({ status: 429, retryAfter: 500, requestId: 'r-1', details: { retry_after: 500 } });
    expect(server.requests).toHaveLength(1);
  });

  it('gives up after the retries, with the last error', async () => {
    server.answer(refusal(500, 'InternalError', { request_id: 'r-2' }));
    const error = await errorOf(clientOf({ maxRetries: 1 }).account.get());
    expect(isApiError(error, 'InternalError') && error.details.request_id).toBe('r-2');
    expect(server.requests).toHaveLength(2);
  });

  it('repeats what may create something twice only when the service says that it did not', async () => {
    const make = () => clientOf().keys.create({ name: 'x' });
    server.answer(drop, OK);
    expect(await errorOf(make())).toBeInstanceOf(ConnectionError);
    server.answer(refusal(500, 'InternalError'), OK);
    expect(await errorOf(make())).toBeInstanceOf(ApiError);
    server.answer(refusal(429, 'RateLimitError', {}, { 'Retry-After': '0' }), OK);
    expect(await make()).toMatchObject({ id: 'x' });
  });

  it('takes a 404 for done when the answer to the first DELETE was lost, but not else', async () => {
    server.answer(drop, refusal(404, 'NotFoundError'));
    expect(await clientOf().recordings.delete('x')).toBeUndefined();
    server.answer(refusal(404, 'NotFoundError'));
    expect(isApiError(await errorOf(clientOf().recordings.delete('x')), 'NotFoundError')).toBe(true);
  });

  it('tells its own correction, whose first answer was lost, from that of somebody else', async () => {
    const conflict = refusal(412, 'PreconditionFailedError', { etag: '"2"' });
    const present = answer(200, { text: 'mine' }, { ETag: '"2"', 'Transcription-Version': 'corrected' });
    const correct = (text: string) => clientOf().recordings.correct('x', { text }, { etag: '"1"' });
    server.answer(drop, conflict, present);
    expect(await correct('mine')).toMatchObject({ text: 'mine', etag: '"2"' });
    server.answer(conflict, present);
    expect(isApiError(await errorOf(correct('another')), 'PreconditionFailedError')).toBe(true);
  });

  it('does not take the page of a proxy for an answer', async () => {
    server.answer(answer(200, '<h1>Please sign in</h1>', { 'Content-Type': 'text/html' }));
    const error = await errorOf(clientOf().account.get());
    expect(error).toBeInstanceOf(InvalidResponseError);
    expect(server.requests).toHaveLength(1);
    expect(await errorOf(clientOf().recordings.export('x', 'text'))).toBeInstanceOf(InvalidResponseError);
  });

  it('does not follow a redirect with the secret', async () => {
    let isAsked = false;
    const other = createServer((_request, response) => response.end(String((isAsked = true)))).listen(0);
    await once(other, 'listening');
    const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/v1/account`;
    server.answer(answer(308, '', { Location: location }));
    const error = await errorOf(clientOf().account.get());
    other.close();
    expect(error).toBeInstanceOf(InvalidResponseError);
    expect((error as Error).message).toContain(location);
    expect(isAsked).toBe(false);
  });

  it.each<[string, Fault]>([
    ['before the answer', stalled()],
    ['in the body', stalled(`${HEAD}Content-Length: 100\r\n\r\n{"id":`)],
    ['between two attempts', refusal(503, 'ServiceUnavailableError', {}, { 'Retry-After': '60' })],
  ])('ends at once when it is aborted %s, with the reason of the signal', async (_name, fault) => {
    server.answer(fault);
    const controller = new AbortController();
    const reason = new Error('the person has left');
    const work = errorOf(clientOf({ timeout: 60_000 }).account.get({ signal: controller.signal }));
    await delay(100);
    const start = performance.now();
    controller.abort(reason);
    expect(await work).toBe(reason);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it('leaves no listener on the signal and no timer behind', async () => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    let added = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      added += 1;
      listeners.add(args[1]);
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.delete(args[1]);
      remove(...args);
    };
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const client = clientOf({ timeout: 60_000 });
    server.answer(refusal(500, 'InternalError'), OK);
    await client.account.get({ signal });
    server.answer(answer(201, { id: 'x', status: 'processing' }));
    await client.recordings.upload(new Blob(['audio']), { signal });
    await errorOf(client.recordings.wait('x', { signal, timeout: 50 }));
    await delay(20);
    expect(added).toBeGreaterThan(2);
    expect(listeners.size).toBe(0);
    expect(timers()).toBeLessThanOrEqual(before);
  });

  describe('uploads', () => {
    const audio = Buffer.alloc(3_000_000, 'audio');
    const CREATED = answer(201, { id: 'x', status: 'processing' });
    const fileIn = (form: Buffer): Buffer => form.subarray(form.indexOf('\r\n\r\n') + 4, form.lastIndexOf('\r\n--'));
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < audio.length; at += 100_000) yield audio.subarray(at, at + 100_000);
    }

    it.each<[string, () => Blob | AsyncIterable<Uint8Array>]>([
      ['a file', () => new Blob([audio])],
      ['a stream', pieces],
    ])(
      'repeats an upload of %s with the same key and bytes, and says that its progress begins again',
      async (_name, open) => {
        const bodies: Buffer[] = [];
        const inTheMiddle: Fault = (request) => request.once('data', () => request.socket.destroy());
        server.answer(inTheMiddle, afterBody([], drop), afterBody(bodies, CREATED));
        const progress: UploadProgress[] = [];
        await clientOf().recordings.upload(open(), { onProgress: (step) => progress.push(step) });
        const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
        expect(new Set(keys).size).toBe(1);
        expect(keys).toHaveLength(3);
        expect(fileIn(bodies[0] as Buffer).equals(audio)).toBe(true);
        expect(progress.at(-1)).toMatchObject({ sent: audio.length, attempt: 3 });
        for (const [i, { sent, attempt }] of progress.entries()) {
          const before = progress[i - 1] ?? { sent: -1, attempt: 0 };
          expect(attempt > before.attempt ? sent : sent - before.sent).toBeGreaterThanOrEqual(0);
          if (attempt > before.attempt) expect(sent).toBe(0);
        }
      },
    );

    it('tells the length of a file, so that it is refused before it is sent', async () => {
      server.answer(afterBody([], CREATED));
      await clientOf().recordings.upload(new Blob([audio]));
      expect(Number(server.requests[0]?.headers['content-length'])).toBeGreaterThan(audio.length);
      expect(server.requests[0]?.headers['transfer-encoding']).toBeUndefined();
    });

    it('gives up an upload that makes no progress, and not one that is slow', async () => {
      server.answer((request) => request.pause());
      const stuck = errorOf(
        clientOf({ timeout: 300, maxRetries: 0 }).recordings.upload(new Blob([audio, audio, audio])),
      );
      expect(await stuck).toBeInstanceOf(TimeoutError);
      async function* slow(): AsyncGenerator<Uint8Array> {
        for (let i = 0; i < 11; i += 1) {
          await delay(200);
          yield audio.subarray(0, 10);
        }
      }
      server.answer(afterBody([], CREATED));
      const client = clientOf({ timeout: 2000, maxRetries: 0 });
      expect(await client.recordings.upload(slow())).toMatchObject({ id: 'x' });
    });

    it('does not repeat an upload whose source fails, and closes the source of one that is aborted', async () => {
      server.answer(afterBody([], CREATED));
      const failure = new Error('the disk is gone');
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield audio.subarray(0, 10);
        await delay(1);
        throw failure;
      }
      expect(await errorOf(clientOf().recordings.upload(failing()))).toBe(failure);
      expect(server.requests.length).toBeLessThanOrEqual(1);

      const controller = new AbortController();
      let isCancelled = false;
      const endless = new ReadableStream<Uint8Array>({
        start: (stream) => stream.enqueue(audio.subarray(0, 10)),
        cancel: () => void (isCancelled = true),
      });
      const upload = errorOf(clientOf().recordings.upload(endless, { signal: controller.signal }));
      await delay(100);
      controller.abort(failure);
      expect(await upload).toBe(failure);
      await eventually(() => isCancelled);
    });

    it('says what can be uploaded', async () => {
      const upload = (source: unknown) => errorOf(clientOf().recordings.upload(source as Blob));
      for (const source of [undefined, null, 5, {}])
        expect(String(await upload(source))).toMatch(/must be a File, a Blob/);
      expect(String(await upload('https://example.com/a.mp3'))).toMatch(/Fetch it first/);
      expect(String(await upload('/no/such/file.wav'))).toMatch(/ENOENT.*no\/such/);
      expect(String(await upload('/'))).toMatch(/is a folder/);
    });
  });

  describe('event streams', () => {
    const STREAM = { 'Content-Type': 'text/event-stream' };
    const event = (id: number): string => `id: ${id}\nevent: recording.deleted\ndata: {"ort":"Köln ${id}"}\n\n`;
    /** Writes pieces, then ends the connection unless it is to stay silent. */
    const streaming =
      (pieces: (string | Buffer)[], { end = true, everyMs = 20 } = {}): Fault =>
      async (request, response) => {
        response.writeHead(200, STREAM);
        for (const piece of pieces) {
          response.write(piece);
          await delay(everyMs);
        }
        if (end) request.socket.destroy();
      };
    const readUntil = async (last: number, options = {}): Promise<number[]> => {
      const read: number[] = [];
      for await (const { sequence } of clientOf().events.stream({ after: 0, ...options })) {
        read.push(sequence);
        if (sequence === last) break;
      }
      return read;
    };

    it('connects again with the id of the last event, wherever the stream is cut', async () => {
      const second = Buffer.from(event(2));
      const inUmlaut = second.indexOf(0xc3) + 1;
      server.answer(
        streaming(['retry: 10\nid: 0\n\n', event(1), second.subarray(0, inUmlaut)]),
        streaming(['id: 1\n\n', second.subarray(0, inUmlaut), second.subarray(inUmlaut), event(3).slice(0, 10)]),
        drop,
        refusal(503, 'ServiceUnavailableError', {}, { 'Retry-After': '0' }),
        streaming(['id: 2\n\n', event(3)], { end: false }),
      );
      expect(await readUntil(3)).toEqual([1, 2, 3]);
      expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '2', '2', '2']);
      expect(server.requests[0]?.url).toBe('/v1/events/stream?after=0');
    });

    it('takes a silent connection for lost, and one with comments for alive', async () => {
      const comments = Array.from({ length: 10 }, () => ':\n\n');
      server.answer(
        streaming(['retry: 10\nid: 0\n\n', ...comments, event(1)], { end: false, everyMs: 200 }),
        streaming([event(2)], { end: false }),
      );
      const states: string[] = [];
      const onState = ({ state }: { state: string }): void => void states.push(state);
      expect(await readUntil(2, { idleTimeout: 2000, onState })).toEqual([1, 2]);
      expect(states).toEqual(['open', 'waiting', 'open']);
    });

    it('ends with an error when the key was revoked, or the service cannot be reached in the first place', async () => {
      server.answer(streaming(['retry: 10\nid: 0\n\n', event(1)]), refusal(401, 'AuthenticationError'));
      expect(isApiError(await errorOf(readUntil(9)), 'AuthenticationError')).toBe(true);
      const nowhere = new VoiceNotes({ baseUrl: 'http://127.0.0.1:9', maxRetries: 1 });
      const reading = (async () => {
        for await (const one of nowhere.events.stream()) return one;
        return null;
      })();
      expect(await errorOf(reading)).toBeInstanceOf(ConnectionError);
    });

    it('closes its connection when the loop is left', async () => {
      const closed = new Promise((resolve) => {
        server.answer((request, response) => {
          response.on('close', resolve);
          return streaming([event(1)], { end: false })(request, response);
        });
      });
      await readUntil(1);
      await closed;
    });

    it('goes on waiting when the service cannot be asked for a while', async () => {
      let asked = 0;
      server.answer((request, response) => {
        if (request.url?.includes('stream')) return refusal(403, 'PermissionError')(request, response);
        if ((asked += 1) <= 2) return refusal(429, 'RateLimitError', {}, { 'Retry-After': '0' })(request, response);
        return answer(200, { id: 'x', status: 'transcribed' })(request, response);
      });
      expect(await clientOf({ maxRetries: 0 }).recordings.wait('x')).toMatchObject({ status: 'transcribed' });
      expect(asked).toBe(3);
    });

    it('waits for a recording without a stream where it is refused, and closes the stream with the last wait', async () => {
      const recording = (status: string): Fault => answer(200, { id: 'x', status });
      let asked = 0;
      server.answer((request, response) => {
        if (request.url?.includes('stream')) return refusal(403, 'PermissionError')(request, response);
        return recording((asked += 1) > 1 ? 'transcribed' : 'processing')(request, response);
      });
      expect(await clientOf().recordings.wait('x')).toMatchObject({ status: 'transcribed' });

      let isClosed = false;
      server.answer((request, response) => {
        if (!request.url?.includes('stream')) return recording('processing')(request, response);
        response.on('close', () => (isClosed = true));
        return streaming(['id: 1\n\n'], { end: false })(request, response);
      });
      const client = clientOf();
      const waits = [1, 2].map(() => errorOf(client.recordings.wait('x', { timeout: 1000 })));
      for (const error of await Promise.all(waits)) expect(error).toBeInstanceOf(TimeoutError);
      expect(server.requests.filter(({ url }) => url?.includes('stream'))).toHaveLength(1);
      await eventually(() => isClosed);
    });
  });
});
