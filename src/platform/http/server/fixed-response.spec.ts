import { gunzipSync } from 'node:zlib';
import express from 'express';
import request from 'supertest';
import { fixedResponse } from './fixed-response.js';
import { knownMethods } from './known-methods.js';

describe('fixedResponse', () => {
  const TEXT = 'grün '.repeat(100);
  let built: number;
  let app: express.Express;

  beforeEach(() => {
    built = 0;
    app = express();
    app.disable('etag');
    const text = (): string => {
      built++;
      return TEXT;
    };
    app.get('/', fixedResponse('text/plain; charset=utf-8', text));
  });

  it('sends the text with its type, its length in bytes and a weak tag, and builds it once', async () => {
    for (let i = 0; i < 2; i++) {
      const { headers, text } = await request(app).get('/').set('Accept-Encoding', 'identity').expect(200);
      expect(text).toBe(TEXT);
      expect(headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'content-length': `${Buffer.byteLength(TEXT)}`,
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
    expect(Number(headers['content-length'])).toBeLessThan(TEXT.length);
    const bytes = body as Buffer;
    expect(bytes[0] === 0x1f ? gunzipSync(bytes).toString() : bytes.toString()).toBe(TEXT);
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

describe('knownMethods', () => {
  const app = express();
  const answer = (_: express.Request, response: express.Response): void => void response.end();
  app.use(answer);
  app.get('/v1/things/:id', answer).delete('/v1/things/:id', answer);
  app.post('/v1/things', answer).get('/v1/things', answer).get('/v1/things', answer);
  app.all(['/v1', '/v1/{*path}'], answer).put('/v1/{*path}', answer);

  it.each([
    ['/v1/things', ['POST', 'GET']],
    ['/v1/things/1', ['GET', 'DELETE']],
    ['/v1/nothing', []],
    ['/v1', []],
  ])('of %s are %j', (path, methods) => {
    expect(knownMethods(app, path)).toEqual(methods);
  });
});
