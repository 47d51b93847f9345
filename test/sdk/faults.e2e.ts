import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
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

/** What a network does to real sockets. What the client makes of each outcome is said in the specs of `sdk/src`. */
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
    ['stalls before the answer', stalled(), 1000],
    ['stalls in the body', stalled(`${HEAD}Content-Length: 100\r\n\r\n{"id":`), 1000],
    ['has an answer that is no HTTP', broken('SSH-2.0-OpenSSH_9.2\r\n')],
  ])('repeats a request when the connection %s', async (_name, fault, timeout = 10_000) => {
    server.answer(fault, OK);
    expect(await clientOf({ timeout }).account.get()).toMatchObject({ id: 'x' });
    expect(server.requests).toHaveLength(2);
    server.answer(fault);
    const error = await errorOf(clientOf({ timeout: 300, maxRetries: 0 }).account.get());
    expect(error instanceof ConnectionError || error instanceof TimeoutError).toBe(true);
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
        expect(String(await upload(source))).toMatch(/must be a Blob, bytes, a stream, or a path/);
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
      (pieces: (string | Buffer)[], { end = true } = {}): Fault =>
      async (request, response) => {
        response.writeHead(200, STREAM);
        for (const piece of pieces) {
          response.write(piece);
          await delay(20);
        }
        if (end) request.socket.destroy();
      };
    const readUntil = async (last: number): Promise<number[]> => {
      const read: number[] = [];
      for await (const { sequence } of clientOf().events.stream({ after: 0 })) {
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
  });
});
