import type { ClientOptions } from './client-options.js';
import { ConnectionError, InvalidResponseError, TimeoutError } from './errors.js';
import { type ApiRequest, type Query, Transport } from './transport.js';
import { VERSION } from './version.js';

const BASE = 'https://notes.example.com';

describe('Transport', () => {
  /** Address and request of each attempt. */
  let sent: [string, RequestInit & { headers: Headers }][];
  let answers: (() => Response | Promise<Response>)[];

  beforeEach(() => {
    jest.useFakeTimers();
    jest.spyOn(Math, 'random').mockReturnValue(1);
    [sent, answers] = [[], []];
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  function transport(options: Partial<ClientOptions> = {}): Transport {
    const fetch = async (url: unknown, init: unknown) => {
      sent.push([String(url), init as RequestInit & { headers: Headers }]);
      return await (answers.shift() ?? (() => Response.json({ ok: true })))();
    };
    return new Transport({ baseUrl: BASE, fetch, ...options });
  }

  const unavailable =
    (headers: Record<string, string> = {}) =>
    () =>
      new Response('', { status: 503, headers });

  async function outcomeOf(request: Partial<ApiRequest>, options: Partial<ClientOptions> = {}): Promise<unknown> {
    const outcome = transport(options)
      .json({ method: 'GET', path: '/recordings', ...request })
      .catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(600_000);
    return await outcome;
  }

  it.each([BASE, `${BASE}/`, `${BASE}/v1`, `${BASE}/v1//`, `${BASE}//`])('accepts the base URL %s', (baseUrl) => {
    expect(transport({ baseUrl }).urlOf('/recordings')).toBe(`${BASE}/v1/recordings`);
  });

  it.each(['notes.example.com', '/v1', 'ftp://x', 'https://', ''])('refuses the base URL %j', (baseUrl) => {
    expect(() => transport({ baseUrl })).toThrow('baseUrl must be the address of the service');
  });

  it.each<[Query, string]>([
    [{}, ''],
    [{ page: 0, limit: undefined, status: null, full: false }, '?page=0&full=false'],
    [{ tags: { 'a b': 'c&d', e: 'f' } }, '?tag.a+b=c%26d&tag.e=f'],
  ])('writes the query %j', (query, search) => {
    expect(transport().urlOf('/recordings', query)).toBe(`${BASE}/v1/recordings${search}`);
  });

  it('sends either half of a key without the spaces around it, a token, and headers of its own', () => {
    const options = { key: ' k\n', secret: ' s ', token: ' t ', headers: { 'X-Proxy': 'p', 'User-Agent': 'mine' } };
    expect([...transport(options).headersOf({ Accept: 'a' })]).toEqual([
      ['accept', 'a'],
      ['authorization', 'Bearer t'],
      ['user-agent', 'mine'],
      ['x-proxy', 'p'],
      ['x-service-api-key', 'k'],
      ['x-service-api-secret', 's'],
    ]);
    expect([...transport().headersOf()]).toEqual([['user-agent', `vnotes/${VERSION}`]]);
    expect(() => transport({ key: 'ключ' }).headersOf()).toThrow('that no header can hold');
  });

  it('sends a body as JSON, and follows no redirect', async () => {
    expect(await outcomeOf({ method: 'PUT', path: '/x', body: { a: 1 } })).toEqual({ ok: true });
    const [[url, init] = []] = sent;
    expect([url, init?.method, init?.body, init?.redirect]).toEqual([`${BASE}/v1/x`, 'PUT', '{"a":1}', 'manual']);
    expect(init?.headers.get('Content-Type')).toBe('application/json');
    answers = [() => new Response('', { status: 302, headers: { Location: 'https://elsewhere' } })];
    const error = await outcomeOf({});
    expect(error).toBeInstanceOf(InvalidResponseError);
    expect(error).toMatchObject({ message: `${BASE} redirects to https://elsewhere. Correct baseUrl.` });
  });

  it.each([
    [{}, {}, 4],
    [{}, { maxRetries: 1 }, 2],
    [{ maxRetries: 0 }, { maxRetries: 5 }, 1],
    [{ method: 'POST' }, {}, 1],
    [{ method: 'POST', mayRepeat: true }, {}, 4],
    [{ mayRepeat: false }, {}, 1],
  ])('tries a request %j of a client %j %i times', async (request, options, times) => {
    answers = Array.from({ length: 10 }, () => unavailable());
    expect(await outcomeOf(request, options)).toMatchObject({ status: 503 });
    expect(sent).toHaveLength(times);
  });

  it('tries a POST again when the service says that it has not begun', async () => {
    answers = [unavailable({ 'Retry-After': '1' })];
    expect(await outcomeOf({ method: 'POST' })).toEqual({ ok: true });
  });

  it.each([
    [{}, {}, 30_000],
    [{}, { timeout: 70 }, 70],
    [{ timeout: 50 }, { timeout: 70 }, 50],
  ])('waits for the answer to a request %j of a client %j for %i ms', async (request, options, ms) => {
    let signal: AbortSignal | null | undefined;
    const silent = (_: unknown, init?: RequestInit) =>
      new Promise<Response>((__, reject) => {
        signal = init?.signal;
        signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    const outcome = transport({ ...options, fetch: silent, maxRetries: 0 })
      .json({ method: 'GET', path: '/x', ...request })
      .catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(ms - 1);
    expect(signal?.aborted).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(await outcome).toBeInstanceOf(TimeoutError);
    expect(await outcome).toMatchObject({ message: `Nothing came for ${ms} ms.` });
  });

  it('treats 404 as success only where an earlier attempt to delete may have succeeded', async () => {
    const gone = () => Response.json({ error: { type: 'NotFoundError' } }, { status: 404 });
    const lost = () => Promise.reject(new Error('reset'));
    const limited = () => new Response('', { status: 429, headers: { 'Retry-After': '1' } });
    const after = async (method: string, ...before: (() => Response | Promise<Response>)[]) => {
      answers = [...before, gone];
      return await outcomeOf({ method });
    };
    expect(await after('DELETE', lost)).toBeUndefined();
    expect(await after('DELETE', unavailable())).toBeUndefined();
    expect(await after('DELETE', limited)).toMatchObject({ status: 404 });
    expect(await after('DELETE')).toMatchObject({ status: 404 });
    expect(await after('GET', lost)).toMatchObject({ status: 404 });
  });

  it('names the service in a connection error, and calls onResponse for each response', async () => {
    answers = [() => Promise.reject(new Error('reset'))];
    const heard: number[] = [];
    const onResponse = ({ status }: Response) => void heard.push(status);
    const error = await outcomeOf({ maxRetries: 0 }, { onResponse });
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ message: `The connection to ${BASE} failed.`, cause: new Error('reset') });
    answers = [unavailable()];
    await outcomeOf({}, { onResponse });
    expect(heard).toEqual([503, 200]);
  });
});
