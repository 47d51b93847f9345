import { once } from 'node:events';
import { readdir, readlink, rename, rm, truncate } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import request from 'supertest';
import { Registry } from 'prom-client';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { speech } from '../../../src/testing/speech.js';
import { startService, type TestService, useService } from '../../../src/testing/test-service.js';
import { wavOfBytes } from '../../support/audio/audio-bytes.js';
import { type BinaryAnswer, fetchBinary, partsOf } from '../../support/http/clients/audio-client.js';
import { expectError, expectInvalid } from '../../support/http/expect-errors.js';
import { head, RawConnection } from '../../support/http/clients/raw-http.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { fail, transcribe } from '../../support/state/recording-states.js';

const SIZE = 400_000;
const NOTE = wavOfBytes(SIZE);
/** More than the buffers of a connection hold. */
const LARGE = wavOfBytes(24_000_000);
/** Node, which the service runs on in this process, needs the rest. */
const ALL_BUT_DATE = [
  ...(['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] as const),
];
const SETTINGS = { ROLES: 'api', WRITE_TIMEOUT_SECONDS: '1', TRANSFER_GRACE_SECONDS: '1' };

describe('audio (D41)', () => {
  let client: ApiClient;
  let onS3: TestService;
  /** Leaves a client that does not read all the time it wants: what is open there stays open until the test ends it. */
  let patient: TestService;
  let s3: FakeS3;

  const service = useService({ ...SETTINGS, ADDRESS_RATE_LIMIT: '6000/6000' });
  const { environment } = service;

  beforeAll(async () => {
    s3 = await FakeS3.start();
    environment.defer(() => s3.stop());
    const settings = { STORAGE_DRIVER: 's3', S3_ENDPOINT: s3.url, S3_BUCKET: s3.bucket };
    const keys = { S3_ACCESS_KEY_ID: 'test-key-id', S3_SECRET_ACCESS_KEY: 'test-secret-key' };
    onS3 = await startService(environment, { ...SETTINGS, ...settings, ...keys });
    patient = await startService(environment, { ROLES: 'api', WRITE_TIMEOUT_SECONDS: '600', MIN_TRANSFER_RATE: '0' });
  });
  beforeEach(async () => {
    client = await service.account();
  });
  afterEach(() => RawConnection.destroyAll());

  async function uploaded(audio = NOTE, name = 'note.wav', by = client): Promise<{ id: string; key: string }> {
    const { body } = await by.upload(audio, {}, name).expect(201);
    return { id: body.id, key: body.s3_key };
  }
  const pathOf = (id: string): string => `/v1/recordings/${id}/audio`;
  const download = (id: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
    fetchBinary(client, pathOf(id), headers, method);
  const fileOf = (key: string): string => join(environment.variables.STORAGE_DIR as string, 'objects', key);
  const slice = (start: number, end: number, of = NOTE) => of.subarray(start, end + 1);

  async function signed(id: string, by = client): Promise<string> {
    const { body } = await by.post(`/v1/recordings/${id}/audio-url`).expect(201);
    return body.url as string;
  }
  const play = (url: string, headers: Record<string, string> = {}) => fetchBinary({ url: service.url, headers }, url);

  /** Of files of the object store that this process has open. */
  async function openFiles(): Promise<number> {
    const links = (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => ''));
    return (await Promise.all(links)).filter((path) => path.includes('/objects/')).length;
  }

  describe('GET /v1/recordings/{id}/audio', () => {
    it('answers with the very bytes, their type and name, whatever the status of the recording', async () => {
      const { id } = await uploaded(await speech('go-forward-ten-meters.ogg'), 'Notiz 1; ü.ogg');
      const answer = await download(id);
      expect(answer.status).toBe(200);
      expect(answer.bytes.equals(await speech('go-forward-ten-meters.ogg'))).toBe(true);
      expect(answer.headers).toMatchObject({
        'content-type': 'audio/ogg',
        'content-length': `${answer.bytes.length}`,
        'content-disposition': `attachment; filename="Notiz 1_ _.ogg"; filename*=UTF-8''Notiz%201%3B%20%C3%BC.ogg`,
        'accept-ranges': 'bytes',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        etag: `"${id}"`,
        'last-modified': expect.stringMatching(/ GMT$/),
        'x-ratelimit-limit': expect.stringMatching(/^\d+$/),
      });
      expect(answer.headers).not.toHaveProperty('content-range');
      const { id: failed } = await uploaded();
      await transcribe(service, id);
      await fail(service, failed);
      for (const ended of [id, failed]) expect((await download(ended)).status).toBe(200);
    });

    it('is the same for HEAD, without the bytes, and ignores a Range there', async () => {
      const { id } = await uploaded();
      const [got, asked] = [await download(id), await download(id, { Range: 'bytes=0-9' }, 'HEAD')];

      const fixed = ({ headers }: BinaryAnswer) =>
        Object.fromEntries(Object.entries(headers).filter(([name]) => /^(content|accept|etag|last|cache)/.test(name)));
      expect(asked.status).toBe(200);
      expect(asked.bytes).toHaveLength(0);
      expect(fixed(asked)).toEqual(fixed(got));
    });
  });

  describe('a Range (RFC 9110 §14)', () => {
    it('is 206 with exactly these bytes', async () => {
      const { id } = await uploaded();
      await checkRows<[range: string, start: number, end: number]>(
        [
          ['bytes=0-99', 0, 99],
          ['bytes=-100', SIZE - 100, SIZE - 1],
          ['bytes=0-49,50-99', 0, 99],
        ],
        async (range, start, end) => {
          const answer = await download(id, { Range: range });
          expect(answer.status).toBe(206);
          expect(answer.bytes.equals(slice(start, end))).toBe(true);
          expect(answer.headers).toMatchObject({
            'content-range': `bytes ${start}-${end}/${SIZE}`,
            'content-length': `${end - start + 1}`,
            'content-type': 'audio/wav',
            'accept-ranges': 'bytes',
            etag: `"${id}"`,
          });
        },
      );
    });

    it('of several is multipart/byteranges, in the order asked', async () => {
      const { id } = await uploaded();
      const answer = await download(id, { Range: `bytes=-100, 0-0, 5-9, ${SIZE}-, 200000-300000` });

      expect(answer.status).toBe(206);
      expect(answer.headers).not.toHaveProperty('content-range');
      expect(answer.headers['content-length']).toBe(`${answer.bytes.length}`);
      const expected: [number, number][] = [
        [SIZE - 100, SIZE - 1],
        [0, 0],
        [5, 9],
        [200_000, 300_000],
      ];
      expect(partsOf(answer)).toEqual(
        expected.map(([start, end]) => ({
          headers: { 'content-type': 'audio/wav', 'content-range': `bytes ${start}-${end}/${SIZE}` },
          bytes: Buffer.from(slice(start, end)),
        })),
      );
    });

    it('is 416 beyond the end, and ignored where it is none', async () => {
      const { id } = await uploaded();
      const beyond = await download(id, { Range: `bytes=${SIZE}-` });
      expectError(beyond, 'RangeNotSatisfiableError', { size_bytes: SIZE });
      expect(beyond.headers['content-range']).toBe(`bytes */${SIZE}`);
      expect(beyond.headers).not.toHaveProperty('content-disposition');
      const whole = await download(id, { Range: 'bytes=9-1' });
      expect([whole.status, whole.bytes.equals(NOTE)]).toEqual([200, true]);
    });

    it('yields to conditions: If-Range, 304 and 412', async () => {
      const { id } = await uploaded();
      const statusOf = async (headers: Record<string, string>) =>
        (await download(id, { Range: 'bytes=0-9', ...headers })).status;
      expect(await statusOf({ 'If-Range': `"${id}"` })).toBe(206);
      expect(await statusOf({ 'If-Range': '"other"' })).toBe(200);
      expect(await statusOf({ 'If-None-Match': '"x"' })).toBe(206);
      const none = await download(id, { 'If-None-Match': `"x", "${id}"`, Range: 'bytes=0-9' });
      expect([none.status, none.bytes.length, none.headers.etag]).toEqual([304, 0, `"${id}"`]);
      expect((await download(id, { 'If-None-Match': `W/"${id}"` }, 'HEAD')).status).toBe(304);
      expectError(await download(id, { 'If-Match': '"x"' }), 'PreconditionFailedError', { etag: `"${id}"` });
    });
  });

  describe('POST /v1/recordings/{id}/audio-url', () => {
    it('gives a URL that needs no credentials, for a player: inline, by ranges, from any page', async () => {
      const { id } = await uploaded();
      const before = Date.now();
      const { body } = await client.post(`/v1/recordings/${id}/audio-url`).expect(201);
      expect(Date.parse(body.expires_at) - before).toBeGreaterThan(290_000);
      expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(300_000);

      const whole = await play(body.url);
      expect(whole.bytes.equals(NOTE)).toBe(true);
      expect(whole.headers).toMatchObject({
        'content-disposition': `inline; filename="note.wav"; filename*=UTF-8''note.wav`,
        'cache-control': 'private, no-store',
        'cross-origin-resource-policy': 'cross-origin',
        'x-content-type-options': 'nosniff',
      });
      const part = await play(body.url, { Range: 'bytes=10-19' });
      expect([part.status, part.bytes.equals(slice(10, 19))]).toEqual([206, true]);
    });

    it('is for this recording alone', async () => {
      const [one, two] = [await uploaded(), await uploaded()];
      const url = await signed(one.id);
      expectError(await play(url.replace(one.id, two.id)), 'AuthenticationError');
      expectError(await client.get(url.replace('signed-audio', 'audio')), 'ValidationError', expect.anything());
    });

    it('is refused when it was changed, has expired, or was signed for something else', async () => {
      const { id } = await uploaded();
      const url = await signed(id);
      const [path = '', token = ''] = url.split('?token=');
      const { body: access } = await client.post('/v1/account/access-tokens', { identity: 'x' }).expect(201);
      for (const other of [token.slice(0, -5), access.token, 'x']) {
        expectError(await play(`${path}?token=${other}`), 'AuthenticationError');
      }
      expectInvalid(await request(service.url).get(path), 'token');
      expectInvalid(await request(service.url).get(`${url}&a=b`), 'a');

      jest.useFakeTimers({ now: Date.now() + 301_000, doNotFake: ALL_BUT_DATE });
      try {
        expectError(await play(url), 'AuthenticationError');
      } finally {
        jest.useRealTimers();
      }
      expect((await play(url)).status).toBe(200);
    });

    it('is no access token, and none makes one', async () => {
      const { id } = await uploaded();
      const [, token] = (await signed(id)).split('?token=');
      const bearer = { url: service.url, headers: { Authorization: `Bearer ${token}` } };
      expectError(await fetchBinary(bearer, pathOf(id)), 'AuthenticationError');
      const { body: access } = await client.post('/v1/account/access-tokens', { identity: 'x' }).expect(201);
      const answer = await request(service.url)
        .post(`/v1/recordings/${id}/audio-url`)
        .set('Authorization', `Bearer ${access.token}`);
      expectError(answer, 'PermissionError', { required_scope: 'recordings:read' });
    });

    it('ends with the recording, with the key that made it, and while the account is suspended', async () => {
      const { id } = await uploaded();
      const reader = await service.key(client, ['recordings:read']);
      const [url, theirs] = [await signed(id), await signed(id, reader)];
      expect((await play(theirs)).status).toBe(200);
      await client.delete(`/v1/account/api-keys/${reader.credentials.id}`).expect(204);
      expectError(await play(theirs), 'AuthenticationError');
      expect((await play(url)).status).toBe(200);

      const lapsing = await service.key(client, ['recordings:read']);
      const untilThen = await signed(id, lapsing);
      expect((await play(untilThen)).status).toBe(200);
      await service.database.query(`UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1`, [
        lapsing.credentials.id,
      ]);
      expectError(await play(untilThen), 'AuthenticationError');

      const suspend = (status: string) =>
        service.database.query('UPDATE accounts SET status = $2 WHERE id = $1', [client.accountId, status]);
      await suspend('suspended');
      expectError(await play(url), 'AccountSuspendedError');
      await suspend('active');
      await client.delete(`/v1/recordings/${id}`).expect(204);
      expectError(await play(url), 'NotFoundError');
    });

    it('takes its requests from the bucket of the address, so that guessing is limited (D6)', async () => {
      const { id } = await uploaded();
      const url = await signed(id);
      const left = (answer: BinaryAnswer) => Number(answer.headers['x-ratelimit-remaining']);
      const start = performance.now();
      const before = left(await fetchBinary({ url: service.url, headers: {} }, '/v1/account'));
      const plays = await Promise.all(Array.from({ length: 50 }, () => play(url)));
      const refilled = Math.ceil((performance.now() - start) / 10);
      expect(Math.min(...plays.map(left))).toBeLessThanOrEqual(before - plays.length + refilled);
      expect((await play(url)).headers['x-ratelimit-limit']).toBe('6000');
    });
  });

  describe('when the store fails', () => {
    it('audio that is gone is 404, with the path of the object nowhere in it', async () => {
      const { id, key } = await uploaded();
      await rm(fileOf(key));
      for (const headers of [{}, { Range: 'bytes=0-9' }] as Record<string, string>[]) {
        const answer = await download(id, headers);
        expectError(answer, 'NotFoundError');
        expect(answer.headers).not.toHaveProperty('content-range');
        expect(answer.headers).not.toHaveProperty('etag');
      }
      expect((await download(id, {}, 'HEAD')).status).toBe(404);
      expectError(await play(await signed(id)), 'NotFoundError');
    });

    it('a disk that is not mounted, or a file that was cut, is 503', async () => {
      const { id, key } = await uploaded();
      const objects = join(environment.variables.STORAGE_DIR as string, 'objects');
      await rename(objects, `${objects}-away`);
      try {
        expectError(await download(id), 'ServiceUnavailableError');
      } finally {
        await rename(`${objects}-away`, objects);
      }
      await truncate(fileOf(key), 1000);
      expectError(await download(id), 'ServiceUnavailableError');
      expect((await download(id, { Range: 'bytes=0-9' })).status).toBe(206);
      expect(await openFiles()).toBe(0);
    });

    it('a file that shrinks while it is sent breaks the connection off, and keeps no client waiting', async () => {
      const { id, key } = await uploaded(LARGE);
      const accepted = once(patient.app.getHttpServer(), 'connection') as Promise<[Socket]>;
      const connection = await RawConnection.open(patient.url);
      const [socket] = await accepted;
      connection.stopReading();
      await connection.send(head('GET', pathOf(id), Object.entries(client.headers)));
      await eventually(async () => (await openFiles()) === 1);
      await truncate(fileOf(key), 30_000);
      connection.resumeReading();
      await eventually(async () => (await openFiles()) === 0);
      expect(socket.destroyed).toBe(true);
    });
  });

  describe('a client that reads slowly or leaves', () => {
    const metric = async ({ app }: TestService, name: string): Promise<number> => {
      const lines = (await app.get(Registry).metrics()).split('\n');
      return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1]);
    };
    const reads = (at: TestService) => metric(at, 'audio_downloads');
    const areAllClosed = async (at: TestService) => (await openFiles()) === 0 && (await reads(at)) === 0;

    /** Requests the file `times` times, each on a connection of its own, and reads nothing. */
    async function stall(at: TestService, id: string, times: number): Promise<void> {
      const connections = await Promise.all(Array.from({ length: times }, () => RawConnection.open(at.url)));
      for (const connection of connections) {
        connection.stopReading();
        await connection.send(head('GET', pathOf(id), Object.entries(client.headers)));
      }
    }

    it('holds no connection to Postgres, and has its file closed at once when it leaves', async () => {
      const { id } = await uploaded(LARGE);
      await stall(patient, id, 20);
      await eventually(async () => (await openFiles()) === 20 && (await reads(patient)) === 20);
      // It holds no connection to Postgres meanwhile: there are fewer.
      await client.at(patient.url).get('/v1/recordings').expect(200);
      RawConnection.destroyAll();
      await eventually(() => areAllClosed(patient), 8000);
    });

    it('is cut off when it stops reading', async () => {
      const cuts = async (): Promise<number> => {
        const limits = ['write_timeout', 'response_rate'];
        const hits = limits.map((limit) => metric(service, `http_connection_limit_hits_total{limit="${limit}"}`));
        return (await Promise.all(hits)).reduce((sum, count) => sum + count, 0);
      };
      const { id } = await uploaded(LARGE);
      const before = await cuts();
      await stall(service, id, 60);
      await eventually(async () => (await cuts()) === before + 60 && (await areAllClosed(service)), 15_000);
    });
  });

  describe('in S3', () => {
    let writer: ApiClient;

    beforeEach(async () => {
      writer = (await service.account()).at(onS3.url);
    });
    const fetched = (id: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
      fetchBinary(writer, pathOf(id), headers, method);

    it('is read by ranges, whole, by HEAD and through a URL', async () => {
      const { id } = await uploaded(NOTE, 'note.wav', writer);
      expect((await fetched(id)).bytes.equals(NOTE)).toBe(true);
      expect((await fetched(id, { Range: 'bytes=-100' })).bytes.equals(slice(SIZE - 100, SIZE - 1))).toBe(true);
      expect(partsOf(await fetched(id, { Range: 'bytes=0-1,5-6' })).map(({ bytes }) => bytes)).toEqual([
        Buffer.from(slice(0, 1)),
        Buffer.from(slice(5, 6)),
      ]);
      expect((await fetched(id, {}, 'HEAD')).headers['content-length']).toBe(`${SIZE}`);
      const url = await signed(id, writer);
      const answer = await fetchBinary({ url: onS3.url, headers: {} }, url);
      expect(answer.bytes.equals(NOTE)).toBe(true);
      await eventually(() => s3.sending === 0);
    });

    it('is 404 when it is gone, and 503 when S3 refuses, is silent, or sends no ranges', async () => {
      const { id, key } = await uploaded(NOTE, 'note.wav', writer);
      for (const mood of ['refused', 'rangeless'] as const) {
        s3.meetOn('GET', mood);
        expectError(await fetched(id), 'ServiceUnavailableError');
      }
      s3.objects.set(key, NOTE.subarray(0, 1000));
      expectError(await fetched(id), 'ServiceUnavailableError');
      s3.hangs = true;
      expectError(await fetched(id), 'ServiceUnavailableError');
      s3.hangs = false;
      s3.objects.delete(key);
      expectError(await fetched(id), 'NotFoundError');
      expect((await fetched(id, {}, 'HEAD')).status).toBe(404);
    });

    it('breaks the connection off when S3 does in the middle', async () => {
      const { id } = await uploaded(LARGE, 'note.wav', writer);
      s3.meetOn('GET', 'cut');
      await expect(fetched(id)).rejects.toThrow();
      expect((await fetched(id)).bytes.equals(LARGE)).toBe(true);
    });

    it('ends the request to S3 at once when the client leaves', async () => {
      const { id } = await uploaded(LARGE, 'note.wav', writer);
      s3.meetOn('GET', 'stuck');
      const connection = await RawConnection.open(onS3.url);
      await connection.send(head('GET', pathOf(id), Object.entries(writer.headers)));
      await eventually(() => s3.sending === 1);
      connection.destroy();
      await eventually(() => s3.sending === 0, 5000);
    });
  });
});
