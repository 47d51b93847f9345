import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { startStopwatch } from '../../support/cpu-wait.js';
import {
  expectAlive,
  expectHarmless,
  expectNoConnections,
  expectNothingKept,
} from '../../support/http/expect-unharmed.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { filePart, form, FORM_TYPE } from '../../support/http/multipart.js';
import { type Ids, nameOf, type Operation, OPERATIONS } from '../../support/http/operations.js';
import { type Answer, chunk, exchange, head, type Header, RawConnection } from '../../support/http/clients/raw-http.js';
import { expectHeaders, expectInvalid, expectInvalidOf, expectError } from '../../support/http/expect-errors.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { failDelivery } from '../../support/state/recording-events.js';
import { settledUploadState, type UploadState, uploadState } from '../../support/state/upload-state.js';

const JSON_TYPE: Header = ['Content-Type', 'application/json'];
const UPLOAD = form(filePart(silenceWav(0.1)));
const TOO_DEEP = 10_000;

/** It takes more than the others: a whole transcript. */
const CORRECTION = 'PUT /v1/recordings/:recording_id/transcription';
/** What is no fault in an operation. */
const RIGHT: Record<string, string[]> = {
  [CORRECTION]: ['a line feed', '90,000 characters', 'nothing', 'white space'],
  'PUT /v1/account/vocabulary': ['an empty array'],
  'PUT /v1/account/retention': ['null', 'a number'],
  'PUT /v1/account/audit-log/settings': ['null', 'a boolean'],
  'PUT /v1/account/speakers': ['null', 'a number'],
  // It removes all names.
  'PUT /v1/recordings/:recording_id/speakers': ['an empty array'],
  'POST /v1/recordings/:recording_id/shares': ['a boolean'],
  // Both are right values of tags.
  'PATCH /v1/recordings/:recording_id': ['null', 'an object'],
};
const MAX_JSON_BYTES = 102_400;

describe('a bad request is refused, and changes nothing', () => {
  let client: ApiClient;
  /** What there is before the first test of a group. */
  let before: { uploads: UploadState; rows: unknown } | null = null;

  const service = useService({ ROLES: 'api' });
  const { environment } = service;

  /** One for each group of tests: no group sends as many requests as an account may in a minute. */
  const useAccount = (): void => {
    beforeAll(async () => {
      client = await service.account();
    });
    afterAll(async () => {
      if (before === null) return;
      await expectNothingKept(service, environment, before.uploads);
      expect(await rows()).toEqual(before.rows);
      before = null;
    });
  };

  beforeEach(async () => {
    before ??= { uploads: await settledUploadState(service, environment), rows: await rows() };
  });

  afterEach(async () => {
    RawConnection.destroyAll();
    await expectAlive(service.url);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  /** What a request could have made or changed, apart from uploads. */
  async function rows(): Promise<unknown> {
    return await service.database.query(
      `SELECT (SELECT count(*)::int FROM accounts) AS accounts, (SELECT count(*)::int FROM api_keys) AS keys,
         (SELECT array_agg(w::text ORDER BY id) FROM webhooks w) AS webhooks`,
    );
  }

  const credentials = (): Header[] => Object.entries(client.headers);

  async function ask(method: string, target: string, more: Header[] = [], ...body: Buffer[]): Promise<Answer> {
    const answer = await exchange(service.url, head(method, target, [...credentials(), ...more]), ...body);
    expectHarmless(answer);
    return answer;
  }

  const askJson = (method: string, target: string, body: Buffer, more: Header[] = [JSON_TYPE]): Promise<Answer> =>
    ask(method, target, [...more, ['Content-Length', body.length]], body);

  describe('that no parser should take', () => {
    useAccount();

    const uploadTo = (framing: string, host = 'Host: a'): string =>
      `POST /v1/recordings HTTP/1.1\r\n${host}\r\n@Content-Type: ${FORM_TYPE}\r\n${framing}\r\n\r\n`;
    const get = (line: string): string => `GET /v1/account HTTP/1.1\r\nHost: a\r\n@${line}\r\n\r\n`;
    const length = UPLOAD.length;

    const UNPARSABLE: [what: string, wire: string, body: Buffer | string][] = [
      ['a Content-Length smaller than the body', uploadTo(`Content-Length: ${length - 200}`), UPLOAD],
      ['a Content-Length of 0 with a body', uploadTo('Content-Length: 0'), UPLOAD],
      [
        'Content-Length with Transfer-Encoding',
        uploadTo(`Content-Length: ${length}\r\nTransfer-Encoding: chunked`),
        Buffer.concat([chunk(UPLOAD), chunk(Buffer.alloc(0))]),
      ],
      ['two Content-Lengths that differ', uploadTo(`Content-Length: 10\r\nContent-Length: ${length}`), UPLOAD],
      ['a list of Content-Lengths', uploadTo(`Content-Length: ${length}, ${length}`), UPLOAD],
      ['a Content-Length with a sign', uploadTo(`Content-Length: +${length}`), UPLOAD],
      ['a Content-Length beyond 64 bits', uploadTo('Content-Length: 99999999999999999999999'), UPLOAD],
      ['a Transfer-Encoding that does not end in chunked', uploadTo('Transfer-Encoding: chunked, gzip'), UPLOAD],
      ['a Transfer-Encoding behind a folded line', uploadTo('Transfer-Encoding:\r\n chunked'), UPLOAD],
      ['a chunk size that is no number', uploadTo('Transfer-Encoding: chunked'), Buffer.from('zz\r\nabc\r\n0\r\n\r\n')],
      ['a chunk size beyond 64 bits', uploadTo('Transfer-Encoding: chunked'), Buffer.from(`${'f'.repeat(20)}\r\nabc`)],
      ['a chunk longer than it says', uploadTo('Transfer-Encoding: chunked'), Buffer.from('3\r\nabcdef\r\n0\r\n\r\n')],
      ['a chunk extension of 100 kB', uploadTo('Transfer-Encoding: chunked'), Buffer.from(`3;${'x'.repeat(100_000)}`)],
      [
        'trailers of 100 kB',
        uploadTo('Transfer-Encoding: chunked'),
        Buffer.from(`0\r\nX-A: ${'x'.repeat(100_000)}\r\n`),
      ],
      ['bare LF behind one header', get('X-A: b\nX-B: c'), ''],
      ['bare CR', get('X-A: b\rX-B: c'), ''],
      ['a folded header', get('X-A: b\r\n c'), ''],
      ['a NUL in a header', get('X-A: b\0c'), ''],
      ['a NUL in the URL', 'GET /v1/account\0 HTTP/1.1\r\nHost: a\r\n@\r\n', ''],
      ['a space before a colon', get('X-A : b'), ''],
      ['a header without a name', get(': b'), ''],
      ['9 kB in one header', get(`X-A: ${'a'.repeat(9_000)}`), ''],
      ['9 kB in the URL', `GET /v1/account?${'a'.repeat(9_000)} HTTP/1.1\r\nHost: a\r\n@\r\n`, ''],
      ['9 kB in many headers', get(Array.from({ length: 900 }, (_, i) => `X-${i}: 1234567890`).join('\r\n')), ''],
      ['1 MB of headers', get(`X-A: ${'a'.repeat(1_000_000)}`), ''],
      ['a method that does not exist', get('X-A: b').replace('GET', 'STEAL'), ''],
      ['a URL without a slash', get('X-A: b').replace('/v1', 'v1'), ''],
      ['a space in the URL', get('X-A: b').replace('/v1', '/v1 /x'), ''],
      ['HTTP/0.9', 'GET /v1/account\r\n\r\n', ''],
      ['HTTP/9.9', get('X-A: b').replace('HTTP/1.1', 'HTTP/9.9'), ''],
      ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', ''],
      ['the beginning of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', ''],
      [
        'random bytes',
        Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 193 + 128) % 256)).toString('latin1'),
        '',
      ],
    ];

    async function sendRaw(wire: string, body: Buffer | string): Promise<RawConnection> {
      const connection = await RawConnection.open(service.url);
      const lines = credentials().map(([name, value]) => `${name}: ${value}\r\n`);
      await connection.send(wire.replace('@', lines.join('')));
      if (body.length > 0) await connection.send(body);
      return connection;
    }

    it('is answered with 400 or 431, and its connection is ended though no client ends its half', async () => {
      const connections = await Promise.all(UNPARSABLE.map(([, wire, body]) => sendRaw(wire, body)));
      const answers = await Promise.all(connections.map((connection) => connection.answer()));
      for (const answer of answers) expectHarmless(answer);
      const error = { code: expect.any(Number), message: expect.any(String), details: expect.anything() };
      expect(
        answers.map(({ status, headers, body }, i) => ({
          what: UNPARSABLE[i]?.[0],
          isRefused: status === 400 || status === 431,
          type: headers['content-type'],
          id: headers['x-request-id'],
          body,
        })),
      ).toStrictEqual(
        UNPARSABLE.map(([what]) => ({
          what,
          isRefused: true,
          type: 'application/json; charset=utf-8',
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          body: { error: { ...error, type: expect.stringMatching(/Error$/) } },
        })),
      );
      await expectNoConnections(service, 4000);
    });

    it('closes the connection of a client that keeps sending headers, after it could read the response', async () => {
      const connection = await RawConnection.open(service.url);
      await connection.send('GET /v1/account HTTP/1.1\r\nHost: a\r\nX-A: ');
      const flood = connection.flood(Buffer.alloc(4096, 'a'), 5);
      const answer = await connection.answer();
      const { brokenAfterMs } = await flood;
      expect(answer.status).toBe(431);
      reportMeasurement(`endless headers: broken ${Math.round(brokenAfterMs - answer.afterMs)} ms after the answer`);
      expect(brokenAfterMs - answer.afterMs).toBeLessThan(4000);
    });

    it('ends the connection of a client that wants a tunnel', async () => {
      const connection = await RawConnection.open(service.url);
      await connection.send(head('CONNECT', 'example.com:443', credentials()));
      await expectNoConnections(service, 4000);
      expect(connection.unread).toBe('');
      connection.destroy();
    });
  });

  describe('that Node takes though HTTP does not, or the other way round', () => {
    useAccount();

    it('refuses a request without exactly one Host', async () => {
      const lines = credentials().map(([name, value]) => `${name}: ${value}\r\n`);
      for (const wire of [
        'GET /v1/account HTTP/1.1\r\n',
        'GET /v1/account HTTP/1.1\r\nHost: a\r\nHost: b\r\n',
        'GET /v1/nothing HTTP/1.0\r\nHost: a\r\nHost: b\r\n',
      ]) {
        expectError(await exchange(service.url, `${wire}${lines.join('')}\r\n`), 'MalformedRequestError');
      }
    });

    it('answers any target with limits, whatever the answer is', () =>
      checkRows<[target: string, status: number, method?: string]>(
        [
          ['http://voice-notes.test/v1/account', 200],
          ['HTTPS://somebody@elsewhere.test:99/v1/account', 200],
          ['http://voice-notes.test/v1/account#fragment', 200],
          ['/v1\\account#fragment', 200],
          ['http://voice-notes.test/v1/nothing', 404],
          ['http://voice-notes.test/v1?page=1', 404],
          ['http://[::1/v1/nothing', 404],
          ['/v1#fragment', 404],
          ['/v1/./account', 404],
          ['/v1//account', 404],
          ['/v1/account', 404, 'TRACE'],
          ['/v1/recordings', 404, 'PURGE'],
          ['/v1/%', 400],
          ['/v1/%ff', 400],
          ['/v1/%c3%28', 400],
          ['/v1/%u0041', 400],
        ],
        async (target, status, method = 'GET') => {
          const answer = await ask(method, target);
          expect(answer.status).toBe(status);
          expectHeaders(answer);
          const stranger = await exchange(service.url, head(method, target));
          expect(stranger.status).toBe(status === 200 ? 401 : status);
          expectHeaders(stranger);
        },
      ));

    it('has an envelope for targets outside /v1, too, and the start page for those without a path', async () => {
      for (const target of ['*', '//v1/account', '/../v1/account', '/v1\\account', '/V1/account', '/%']) {
        const answer = await ask('GET', target);
        expect([target, answer.status]).toEqual([target, target === '/%' ? 400 : 404]);
        expect(answer.body).toMatchObject({ error: { type: expect.stringMatching(/Error$/) } });
      }
      for (const target of ['http://[::1', 'x://']) expect((await ask('GET', target)).status).toBe(200);
    });

    it('ignores what a client expects and asks to be upgraded to', async () => {
      for (const headers of [
        [['Expect', 'the Spanish Inquisition']],
        [
          ['Connection', 'Upgrade'],
          ['Upgrade', 'websocket'],
        ],
        [
          ['Connection', 'Upgrade, HTTP2-Settings'],
          ['Upgrade', 'h2c'],
        ],
      ] as Header[][]) {
        const answer = await ask('GET', '/v1/account', headers);
        expect(answer.status).toBe(200);
        expectHeaders(answer);
      }
    });

    it('does not wait for a body before it refuses a stranger', async () => {
      const refuses = async (target: string): Promise<void> => {
        const elapsed = startStopwatch();
        const connection = await RawConnection.open(service.url);
        await connection.send(head('POST', target, [JSON_TYPE, ['Transfer-Encoding', 'chunked']]));
        const answer = await connection.answer(10_000);
        expect(answer.status).toBe(target === '/v1/nothing' ? 404 : 401);
        expectHeaders(answer);
        await connection.flood(chunk(Buffer.alloc(1000, 'x')), 10);
        expect(elapsed()).toBeLessThan(5000);
      };
      await Promise.all(['/v1/recordings', '/v1/account/api-keys', '/v1/nothing'].map(refuses));
    });
  });

  const WITH_JSON = OPERATIONS.filter(({ body }) => typeof body === 'object') as (Operation & { body: object })[];

  describe('JSON', () => {
    useAccount();

    let webhookId: string;
    const targetOf = ({ path }: Operation): string => path.replace(/:webhook_id/, webhookId);

    beforeAll(async () => {
      const { body } = await client.post('/v1/webhooks', {
        url: 'https://a.example.com/',
        events: ['recording.failed'],
      });
      webhookId = body.id;
    });

    /** To every operation that takes JSON. */
    async function sendAll(
      bytes: (valid: object) => string | Buffer,
      check: (answer: Answer, operation: Operation) => unknown,
      headers: Header[] = [JSON_TYPE],
    ): Promise<void> {
      for (const operation of WITH_JSON) {
        const body = Buffer.from(bytes(operation.body) as string);
        check(await askJson(operation.method, targetOf(operation), body, headers), operation);
      }
    }

    /** In the first name of the object: not every body has a text. */
    const withInName = (valid: object, characters: string): string =>
      JSON.stringify(valid).replace('{"', `{"${characters}`);

    const MALFORMED: [what: string, bytes: (valid: object) => string | Buffer][] = [
      ['a byte order mark', (valid) => `\ufeff${JSON.stringify(valid)}`],
      ['a byte that is not UTF-8', (valid) => Buffer.from(withInName(valid, '\xff'), 'latin1')],
      ['an overlong slash', (valid) => Buffer.from(withInName(valid, '\xc0\xaf'), 'latin1')],
      ['a surrogate in UTF-8', (valid) => Buffer.from(withInName(valid, '\xed\xa0\x80'), 'latin1')],
      ['UTF-16', (valid) => Buffer.from(JSON.stringify(valid), 'utf16le')],
      ['a top-level array', (valid) => JSON.stringify([valid])],
      ['a top-level string', (valid) => JSON.stringify(JSON.stringify(valid))],
      ['a top-level number', () => '1'],
      ['null', () => 'null'],
      ['true', () => 'true'],
      ['nothing', () => ''],
      ['white space', () => ' \n'],
      ['undefined', () => 'undefined'],
      ['two values', (valid) => `${JSON.stringify(valid)}{}`],
      ['a comma too many', (valid) => JSON.stringify(valid).replace(/}$/, ',}')],
      ['a comment', (valid) => `/* */${JSON.stringify(valid)}`],
      ['half of itself', (valid) => JSON.stringify(valid).slice(0, -3)],
      ['a raw NUL', (valid) => withInName(valid, '\0')],
      ['a raw line feed', (valid) => withInName(valid, '\n')],
      ['objects 10,000 deep', () => `${'{"a":'.repeat(TOO_DEEP)}1${'}'.repeat(TOO_DEEP)}`],
      ['arrays 10,000 deep', () => `{"a":${'['.repeat(TOO_DEEP)}${']'.repeat(TOO_DEEP)}}`],
      ['arrays 50,000 deep that do not end', () => `{"a":${'['.repeat(50_000)}`],
      ['a form', () => 'name=a&identity=b'],
      ['a repeated key', (valid) => `{"name":1,"name":2,${JSON.stringify(valid).slice(1)}`],
      ['a repeated key in an inner object', () => '{"name":{"a":1,"a":2}}'],
    ];

    it('is refused when it is malformed', () =>
      checkRows(MALFORMED, async (_, bytes) => {
        await sendAll(bytes, (answer) => expectError(answer, 'MalformedRequestError'));
      }));

    const WRONG_VALUES: [what: string, value: (text: string) => unknown][] = [
      ['an escaped NUL', (text) => `${text}\0`],
      ['a lone surrogate', (text) => `${text}\ud800`],
      ['surrogates the wrong way round', (text) => `\udc00\ud800${text}`],
      ['a line feed', (text) => `${text}\n`],
      ['a C1 control character', (text) => `${text}\u0085`],
      ['90,000 characters', (text) => text + 'x'.repeat(90_000)],
      ['nothing', () => ''],
      ['white space', () => '   '],
      ['null', () => null],
      ['a number', () => 1],
      ['a number beyond all bounds', () => 1e300],
      ['a boolean', () => true],
      ['an object', () => ({})],
      ['an object with __proto__', () => JSON.parse('{"__proto__":{"polluted":1}}')],
      ['an object that looks like a string', () => ({ length: 5, trim: 'x', toString: 'x' })],
      ['an empty array', () => []],
      ['an array of itself', (text) => [text]],
      ['an array of 10,000 numbers', () => Array.from({ length: 10_000 }, (_item, i) => i)],
    ];

    it('is refused with a wrong value in any of its fields', () =>
      checkRows(WRONG_VALUES, async (what, value) => {
        for (const operation of WITH_JSON) {
          const { method, path, body } = operation;
          if (RIGHT[nameOf(operation)]?.includes(what)) continue;
          for (const [field, valid] of Object.entries(body) as [string, unknown][]) {
            const isList = Array.isArray(valid);
            const wrong =
              isList && what.startsWith('an array') ? [value('x')] : value(isList ? String(valid[0]) : String(valid));
            const text = JSON.stringify({ ...body, [field]: isList && typeof wrong === 'string' ? [wrong] : wrong });
            expectInvalid(await askJson(method, targetOf({ path } as Operation), Buffer.from(text)), field);
          }
        }
      }));

    it('is refused with a field that nobody knows', () =>
      checkRows<[field: string, text: string]>(
        [
          ['__proto__', '{"__proto__":{"polluted":1,"name":"x","identity":"x"}}'],
          ['constructor', '{"constructor":{"prototype":{"polluted":1}}}'],
          ['toString', '{"toString":1}'],
          ['then', '{"then":1}'],
          ['', '{"":1}'],
          ['a\0b', '{"a\\u0000b":1}'],
          ['\ud800', '{"\\ud800":1}'],
          ['0', '{"0":1}'],
          ['Name', '{"Name":"x"}'],
          ['id', '{"id":"00000000-0000-7000-8000-000000000000"}'],
          ['account_id', '{"account_id":"00000000-0000-7000-8000-000000000000"}'],
        ],
        async (field, text) => {
          const check = (answer: Answer) => expectInvalid(answer, Buffer.from(field).toString(), /not a field/);
          await sendAll((valid) => `${JSON.stringify(valid).slice(0, -1)},${text.slice(1)}`, check);
        },
      ));

    it('bounds what 10,000 unknown fields cost', async () => {
      const body = `{${Array.from({ length: 10_000 }, (_, i) => `"${i.toString(36)}":1`).join(',')}}`;
      for (const operation of WITH_JSON) {
        const elapsed = startStopwatch();
        const answer = await askJson(operation.method, targetOf(operation), Buffer.from(body));
        const ms = elapsed();
        expect(answer.status).toBe(400);
        reportMeasurement(
          `${nameOf(operation)}: 10,000 unknown fields in ${body.length} bytes, answered with ${answer.text.length} bytes after ${Math.round(ms)} ms`,
        );
        expect(ms).toBeLessThan(2000);
      }
    });

    it.each(['with a length', 'chunked'])(
      'refuses megabytes %s with 413, and breaks a client that does not stop',
      async (how) => {
        const refuses = async (operation: Operation): Promise<void> => {
          const { method, path } = operation;
          const limit = nameOf(operation) === CORRECTION ? 2_097_152 : MAX_JSON_BYTES;
          const bytes = Buffer.from(JSON.stringify({ name: 'x'.repeat(Math.max(1_000_000, limit)) }));
          const framing: Header = how === 'chunked' ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', 10_000_000];
          const connection = await RawConnection.open(service.url);
          await connection.send(head(method, targetOf({ path } as Operation), [...credentials(), JSON_TYPE, framing]));
          await connection.send(how === 'chunked' ? chunk(bytes) : bytes);
          expectError(await connection.answer(), 'PayloadTooLargeError', { max_bytes: limit });
          const { brokenAfterMs } = await connection.flood(
            how === 'chunked' ? chunk(Buffer.from('x')) : Buffer.from('x'),
            20,
          );
          expect(brokenAfterMs).toBeLessThan(6000);
        };
        await Promise.all(WITH_JSON.map(refuses));
      },
    );

    it('refuses the byte behind 102,400', async () => {
      const body = (bytes: number): Buffer => Buffer.from(JSON.stringify({ name: 1 }).padEnd(bytes, ' '));
      expectInvalid(await askJson('POST', '/v1/account/api-keys', body(102_400)), 'name');
      const answer = await askJson('POST', '/v1/account/api-keys', body(102_401));
      expectError(answer, 'PayloadTooLargeError', { max_bytes: 102_400 });
    });

    it('is refused under another type or encoding, and without a type', () =>
      checkRows<[what: string, headers: Header[], encode: (text: string) => Buffer]>(
        [
          ['no Content-Type', [], Buffer.from],
          ['text/plain', [['Content-Type', 'text/plain']], Buffer.from],
          ['another kind of JSON', [['Content-Type', 'application/vnd.api+json']], Buffer.from],
          ['a form', [['Content-Type', 'application/x-www-form-urlencoded']], Buffer.from],
          ['multipart', [['Content-Type', FORM_TYPE]], Buffer.from],
          ['a malformed Content-Type', [['Content-Type', 'application']], Buffer.from],
          ['a compressed body', [JSON_TYPE, ['Content-Encoding', 'gzip']], (text) => gzipSync(text)],
          ['a body that only says it is compressed', [JSON_TYPE, ['Content-Encoding', 'br']], Buffer.from],
          ['an unknown encoding', [JSON_TYPE, ['Content-Encoding', 'x']], Buffer.from],
        ],
        async (_, headers, encode) => {
          const bytes = (valid: object) => encode(JSON.stringify(valid));
          await sendAll(bytes, (answer) => expectError(answer, 'MalformedRequestError'), headers);
        },
      ));

    it('makes nothing of a body that breaks off', async () => {
      for (const operation of WITH_JSON) {
        const connection = await RawConnection.open(service.url);
        const body = JSON.stringify(operation.body);
        const framing: Header = ['Content-Length', body.length + 10];
        await connection.send(
          head(operation.method, targetOf(operation), [...credentials(), JSON_TYPE, framing]) + body,
        );
        connection.end();
        await connection.closed;
        expect(connection.unread).not.toMatch(/^HTTP\/1.1 [25]/);
      }
    });
  });

  describe('path id', () => {
    useAccount();

    let ids: Ids;

    beforeAll(async () => {
      const webhook = await client.post('/v1/webhooks', {
        url: 'https://a.example.com/',
        events: ['recording.failed'],
      });
      const recording = await client.upload(silenceWav(0.1)).expect(201);
      const share = await client.post(`/v1/recordings/${recording.body.id}/shares`, {}).expect(201);
      ids = {
        key_id: client.credentials.id,
        token_issuer_id: randomUUID(),
        webhook_id: webhook.body.id,
        delivery_id: await failDelivery(service, client.accountId, webhook.body.id),
        recording_id: recording.body.id,
        share_id: share.body.id,
      };
    });

    const WITH_ID = OPERATIONS.filter(({ path }) => /:(key|webhook|recording)_id/.test(path));

    const SPELLINGS: [what: string, spell: (id: string) => string, status: 404 | 400][] = [
      ['an unknown id', () => randomUUID(), 404],
      ['x', () => 'x', 404],
      ['{uuid}', (id) => `{${id}}`, 404],
      ['{uuid}, encoded', (id) => `%7B${id}%7D`, 404],
      ['undashed', (id) => id.replaceAll('-', ''), 404],
      ['upper case', (id) => id.toUpperCase(), 404],
      ['urn:uuid:', (id) => `urn:uuid:${id}`, 404],
      ['in quotes', (id) => `%27${id}%27`, 404],
      ['with a space', (id) => `${id}%20`, 404],
      ['with a tab before it', (id) => `%09${id}`, 404],
      ['with a line feed', (id) => `${id}%0A`, 404],
      ['with a NUL', (id) => `${id}%00`, 404],
      ['%00', () => '%00', 404],
      ['an emoji', () => '%F0%9F%8E%99', 404],
      ['with SQL', (id) => `${id}%27%3B--`, 404],
      ['with a semicolon', (id) => `${id};a=b`, 404],
      [
        'full-width digits',
        (id) => id.replace(/\d/, (digit) => encodeURIComponent(String.fromCodePoint(0xff10 + Number(digit)))),
        404,
      ],
      ['3000 characters', () => 'a'.repeat(3000), 404],
      ['3000 digits', () => '9'.repeat(3000), 404],
      ['..', () => '%2e%2e', 404],
      ['a path', () => '..%2f..%2fetc%2fpasswd', 404],
      ['null', () => 'null', 404],
      ['__proto__', () => '__proto__', 404],
      ['the nil UUID', () => '00000000-0000-0000-0000-000000000000', 404],
      ['%ff', () => '%ff', 400],
      ['a surrogate in UTF-8', () => '%ed%a0%80', 400],
      ['a percent sign', () => '%', 400],
      ['half an escape', (id) => `${id}%0`, 400],
    ];

    it('in any other form is none: 404 (D1)', async () => {
      await checkRows(SPELLINGS, async (_, spell, status) => {
        for (const { method, path, body } of WITH_ID) {
          const target = path.replace(/:(\w+)/g, (_all, name: keyof Ids) => spell(ids[name] ?? ids.webhook_id));
          const json = typeof body === 'object' ? Buffer.from(JSON.stringify(body)) : null;
          const answer = await (json ? askJson(method, target, json) : ask(method, target));
          expectError(answer, status === 404 ? 'NotFoundError' : 'MalformedRequestError');
        }
      });
      // What was meant, perhaps, is still there.
      await client.get(`/v1/webhooks/${ids.webhook_id}`).expect(200);
      await client.get(`/v1/recordings/${ids.recording_id}`).expect(200);
      await client.get(`/v1/account/api-keys/${ids.key_id}`).expect(200);
    });
  });

  describe('query', () => {
    useAccount();

    const NUMBERS = ['-1', '1.5', '1e309', '1e3', '9999999999999999', '0x1', '%00', '+1', '%EF%BC%91', '%ff', ''];
    const WRONG: [query: string, field: string][] = [
      ...[...NUMBERS, '1000000001', '1'.repeat(3000)].map((value): [string, string] => [`page=${value}`, 'page']),
      ...[...NUMBERS, '0', '101'].map((value): [string, string] => [`limit=${value}`, 'limit']),
      ['page', 'page'],
      ['page=1&page=1', 'page'],
      ['limit=5&limit=5', 'limit'],
      ['page[]=1', 'page[]'],
      ['page%5B%5D=1', 'page[]'],
      ['page[a]=1', 'page[a]'],
      ['page[__proto__][x]=1', 'page[__proto__][x]'],
      ['__proto__[polluted]=1', '__proto__[polluted]'],
      ['constructor=1', 'constructor'],
      ['%00=1', '\0'],
      ['%ff=1', '\ufffd'],
      ['=1', ''],
      ['Page=1', 'Page'],
      ['offset=1', 'offset'],
      ['statuss=failed', 'statuss'],
      ['status=', 'status'],
      ['status=%00', 'status'],
      ['status=FAILED', 'status'],
      ['status=deleted', 'status'],
      ['status=failed&status=failed', 'status'],
      ['status[]=failed', 'status[]'],
      [Array.from({ length: 1500 }, (_, i) => i.toString(36)).join('&'), '0'],
    ];
    const DAYS = ['2026-02-30', '2026-13-01', '0000-01-01', '294277-01-01', 'infinity', 'now', '2026-1-1'];
    const NO_DAYS = [...DAYS, '2026-01-01T00:00:00Z', '2026-01-01%00', '2026-01-01%0A', '%ff', ''];
    /** Lists that take days. */
    let dated: string[];
    let lists: string[];

    beforeAll(async () => {
      const hook = { url: 'https://a.example.com/', events: ['recording.failed'] };
      const [webhook, recording] = [await client.post('/v1/webhooks', hook), await client.upload(silenceWav(0.1))];
      dated = ['/v1/recordings', `${webhook.body.uri}/deliveries`];
      lists = [...dated, '/v1/webhooks', '/v1/account/api-keys', `${recording.body.uri}/transcriptions`];
    });

    it('of every list is refused where it is wrong, and the parameter named (D16, D19)', () =>
      checkRows(WRONG, async (query, field) => {
        for (const path of lists) {
          const answer = await ask('GET', `${path}?${query}`);
          const { type, details } = answer.body?.error ?? {};
          const expected = { path, status: 400, type: 'ValidationError', field };
          expect({ path, status: answer.status, type, field: details?.field }).toEqual(expected);
          expectHeaders(answer);
        }
      }));

    it('is refused with a day that is none, and takes the first and the last there are (D18)', async () => {
      for (const path of dated) {
        for (const day of NO_DAYS) {
          for (const [field, other] of [
            ['date_from', '&date_to=9999-12-31'],
            ['date_to', '&date_from=0001-01-01'],
          ] as const) {
            expectInvalid(await ask('GET', `${path}?${field}=${day}${other}`), field);
          }
        }
        expectInvalid(await ask('GET', `${path}?date_from=2026-01-01&date_from=2026-01-01`), 'date_from');
        expectInvalid(await ask('GET', `${path}?date_to[]=2026-01-01`), 'date_to[]');
        expectInvalid(await ask('GET', `${path}?date_from=2026-03-02&date_to=2026-03-01`), 'date_from');
        for (const query of ['date_from=0001-01-01&date_to=9999-12-31', 'date_from=9999-12-31', 'date_to=0001-01-01']) {
          expect((await ask('GET', `${path}?${query}`)).status).toBe(200);
        }
      }
    });

    it('is refused where an operation takes none, before a body is read', async () => {
      const inputless = OPERATIONS.filter(({ path }) => !path.includes(':') && !lists.includes(path));
      for (const { method, path, body, isCompatible } of inputless) {
        const framing: Header[] = body === undefined ? [] : [JSON_TYPE, ['Transfer-Encoding', 'chunked']];
        expectInvalidOf({ isCompatible }, await ask(method, `${path}?%00=1`, framing), '\0');
      }
    });
  });
});

describe('a client that takes its time', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api', UPLOAD_TIMEOUT_SECONDS: '2' });
  const { environment } = service;

  beforeAll(async () => {
    client = await service.account();
  });

  it('has ten seconds for its headers and five minutes in total by default', async () => {
    const other = await startService(environment, { ROLES: 'api' });
    const { headersTimeout, requestTimeout } = other.app.getHttpServer();
    expect({ headersTimeout, requestTimeout }).toEqual({ headersTimeout: 10_000, requestTimeout: 300_000 });
    await other.close();
  });

  const requestOf = (method: string, path: string, ...more: Header[]): string =>
    head(method, path, [...Object.entries(client.headers), ...more]);

  it('is ended when it does not come to the end of a head or a body, also where it keeps its half open', async () => {
    const LENGTH: Header = ['Content-Length', 20_000];
    const CHUNKED: Header = ['Transfer-Encoding', 'chunked'];
    const toHooks = (framing: Header): string => requestOf('POST', '/v1/webhooks', JSON_TYPE, framing);
    const upload = (framing: Header): string =>
      requestOf('POST', '/v1/recordings', ['Content-Type', FORM_TYPE], framing);
    const part = filePart(silenceWav(0.1));
    const slow: [what: string, head: string, body: Buffer | string, drip: Buffer | string | null][] = [
      ['sends nothing', '', '', null],
      ['sends half a head', 'GET /v1/account HTTP/1.1\r\nHost: a\r\n', '', null],
      ['sends a head byte by byte', 'GET /v1/account HTTP/1.1\r\nHost: a\r\nX-A: ', '', 'a'],
      ['sends a head line by line', 'GET /v1/account HTTP/1.1\r\nHost: a\r\n', '', 'X-A: b\r\n'],
      ['sends empty lines', '', '', '\r\n'],
      ['sends half a JSON body', toHooks(LENGTH), '{', null],
      ['sends a JSON body byte by byte', toHooks(LENGTH), '{', ' '],
      ['sends chunks of JSON byte by byte', toHooks(CHUNKED), '', '1\r\n \r\n'],
      ['stops behind the file', upload(LENGTH), UPLOAD, null],
      ['stops in the file', upload(LENGTH), part, null],
      ['stops in a chunk', upload(CHUNKED), 'ffff\r\nabc', null],
      ['sends nothing of a file', upload(LENGTH), '', null],
      ['sends a byte of a file now and then', upload(LENGTH), part, 'x'],
      ['sends a chunk of a file now and then', upload(CHUNKED), chunk(part), chunk(Buffer.from('x'))],
    ];
    const before = await uploadState(service, environment);
    const ends = await Promise.all(
      slow.map(async ([what, first, body, drip]) => {
        const connection = await RawConnection.open(service.url);
        for (const bytes of [first, body]) if (bytes.length > 0) await connection.send(bytes);
        const dripping = drip === null ? null : connection.flood(Buffer.from(drip as string), 100, 10_000);
        return { what, dripping, answer: await connection.answer(8000) };
      }),
    );
    expect(
      ends.map(({ what, answer: { status, body, afterMs } }) => ({ what, status, body, inTime: afterMs < 6000 })),
    ).toMatchObject(
      slow.map(([what]) => ({
        what,
        status: 408,
        body: { error: { code: 2002, type: 'MalformedRequestError' } },
        inTime: true,
      })),
    );
    // The clients have neither sent an end nor gone away.
    await expectNothingKept(service, environment, before);
    for (const { dripping } of ends) await dripping;
    await expectAlive(service.url);
    RawConnection.destroyAll();
  });

  it('is ended when it sends an unneeded body slowly', async () => {
    const elapsed = startStopwatch();
    const connection = await RawConnection.open(service.url);
    await connection.send(requestOf('GET', '/v1/account', ['Content-Length', 1_000_000]));
    expect((await connection.answer(10_000)).status).toBe(200);
    await connection.flood(Buffer.from('x'), 50);
    expect(elapsed()).toBeLessThan(6000);
    await expectNoConnections(service, 4000);
  });

  it('is no harm to others, 500 times over', async () => {
    const connections = await Promise.all(Array.from({ length: 500 }, () => RawConnection.open(service.url)));
    await Promise.all(connections.map((connection, i) => connection.send(i % 2 ? 'GET /v1/acc' : 'POST ')));
    for (let i = 0; i < 5; i++) await expectAlive(service.url);
    await client.get('/v1/account').expect(200);
    await expectNoConnections(service, 10_000);
    for (const connection of connections) connection.destroy();
  });
});
