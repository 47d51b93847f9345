import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, brotliDecompressSync, constants, gunzipSync } from 'node:zlib';
import express, { type Request, type Response } from 'express';
import request from 'supertest';
import * as client from 'undici';
import { mainThreadCpuTime, startCpuTime } from '../../../test/support/cpu-wait.js';
import { fixedResponse, sendText } from './send-text.js';

const WORDS = Array.from({ length: 500 }, (_, i) => ({
  word: `grün${i}`,
  start: i / 3,
  end: i / 3 + 0.2,
  confidence: 0.9,
}));
const TEXT = JSON.stringify(WORDS);
/** Sent in pieces. */
const LONG = TEXT.repeat(20);

/** The answer to a request with this Accept-Encoding, its body as it came. */
async function ask(text: string, acceptEncoding: string, method = 'GET') {
  const app = express();
  app.use((_request: Request, response: Response) => {
    response.setHeader('ETag', '"tag"');
    response.vary('Accept');
    sendText(response, text);
  });
  const server = app.listen(0);
  try {
    const { port } = server.address() as AddressInfo;
    const { headers, body } = await client.request(`http://127.0.0.1:${port}/`, {
      method,
      headers: { 'accept-encoding': acceptEncoding, connection: 'close' },
    });
    return { headers, body: Buffer.from(await body.arrayBuffer()) };
  } finally {
    server.close();
  }
}

const decoded = (coding: unknown, body: Buffer): string =>
  (coding === 'br' ? brotliDecompressSync(body) : coding === 'gzip' ? gunzipSync(body) : body).toString();

/** The longest turn of this thread while the text is coded: its CPU time, which other programs do not lengthen. */
async function longestTurn(text: string): Promise<number> {
  let longest = 0;
  let isOver = false;
  const clock = (async () => {
    for (let last = mainThreadCpuTime(); !isOver;) {
      await delay(1);
      longest = Math.max(longest, mainThreadCpuTime() - last);
      last = mainThreadCpuTime();
    }
  })();
  const { body } = await ask(text, 'br');
  isOver = true;
  await clock;
  expect(brotliDecompressSync(body)).toHaveLength(Buffer.byteLength(text));
  return longest;
}

describe('a text as an answer (D61)', () => {
  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['gzip;q=0.5, identity', undefined],
    ['br;q=0', undefined],
    ['identity', undefined],
    ['zstd', undefined],
    ['*', 'br'],
    ['', undefined],
  ])('for Accept-Encoding: %s has the coding %s, whether it goes out whole or in pieces', async (accepted, coding) => {
    for (const text of [TEXT, LONG]) {
      const { headers, body } = await ask(text, accepted);
      expect(headers['content-encoding']).toBe(coding);
      expect(headers.vary).toBe('Accept, Accept-Encoding');
      expect(headers.etag).toBe('"tag"');
      expect(decoded(coding, body) === text).toBe(true);
    }
  });

  it('is as it is up to 1 kB, and then does not vary', async () => {
    const { headers, body } = await ask('a'.repeat(1024), 'gzip, br');
    expect(headers).toMatchObject({ 'content-length': '1024', vary: 'Accept' });
    expect(headers['content-encoding']).toBeUndefined();
    expect(body).toHaveLength(1024);
    expect((await ask('a'.repeat(1025), 'br')).headers['content-encoding']).toBe('br');
  });

  it('has no body for HEAD, and no length that GET would not have', async () => {
    const { headers: short } = await ask('short', 'br', 'HEAD');
    expect(short['content-length']).toBe('5');
    const { headers, body } = await ask(TEXT, 'br', 'HEAD');
    expect(headers).toMatchObject({ etag: '"tag"', vary: 'Accept, Accept-Encoding' });
    expect([headers['content-length'], body.length]).toEqual([undefined, 0]);
  });

  it('is coded in other threads', async () => {
    // In one piece, as a text that was read: to join it would be measured, too.
    const text = Buffer.from(LONG.repeat(20)).toString();
    // The compiler and the collector of JavaScript take some turns; coding in this thread would take one in each run.
    let longest = Infinity;
    for (let run = 0; run < 3; run++) longest = Math.min(longest, await longestTurn(text));
    const here = startCpuTime();
    brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
    expect(longest).toBeLessThan(here() / 2);
  });
});

describe('fixedResponse', () => {
  const FIXED_TEXT = 'grün '.repeat(100);
  let built: number;
  let app: express.Express;

  beforeEach(() => {
    built = 0;
    app = express();
    app.disable('etag');
    const text = (): string => {
      built++;
      return FIXED_TEXT;
    };
    app.get('/', fixedResponse('text/plain; charset=utf-8', text));
  });

  it('sends the text with its type, its length in bytes and a weak tag, and builds it once', async () => {
    for (let i = 0; i < 2; i++) {
      const { headers, text } = await request(app).get('/').set('Accept-Encoding', 'identity').expect(200);
      expect(text).toBe(FIXED_TEXT);
      expect(headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'content-length': `${Buffer.byteLength(FIXED_TEXT)}`,
        etag: expect.stringMatching(/^W\/"[\w-]{22}"$/),
        vary: 'Accept-Encoding',
      });
      expect(headers['content-encoding']).toBeUndefined();
    }
    expect(built).toBe(1);
  });

  it('sends it compressed to those who take gzip', async () => {
    const { headers, body } = await request(app)
      .get('/')
      .set('Accept-Encoding', 'gzip')
      .buffer(true)
      .parse((response, done) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => done(null, Buffer.concat(chunks)));
      });
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(Number(headers['content-length'])).toBeLessThan(FIXED_TEXT.length);
    const bytes = body as Buffer;
    expect(bytes[0] === 0x1f ? gunzipSync(bytes).toString() : bytes.toString()).toBe(FIXED_TEXT);
  });

  it('is 304 without a body for those who have it', async () => {
    const { headers } = await request(app).get('/');
    const again = await request(app)
      .get('/')
      .set('If-None-Match', headers.etag as string);
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
    await request(app).get('/').set('If-None-Match', 'W/"other"').expect(200);
  });
});
