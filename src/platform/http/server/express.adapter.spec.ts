import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import request from 'supertest';
import type { Env } from '../../config/env.js';
import { doBeforeAnswer } from './before-answer.js';
import { BoundedExpressAdapter, preparedClasses } from './express.adapter.js';

class View {
  shown = 'as it is';
  toJSON(): object {
    return { shown: 'as it wants' };
  }
}

const BODIES: Record<string, () => unknown> = {
  'a plain object': () => ({ text: 'grün', list: [1, null], at: new Date(0), left: undefined, '"': '\u2028<' }),
  'an empty object': () => ({}),
  'an object without a prototype': () => Object.assign(Object.create(null) as object, { a: 1 }),
  'an object of a class': () => new View(),
  'a list': () => [{ a: 1 }, 'b'],
  'a text': () => 'text',
  'a number': () => 7,
  nothing: () => undefined,
  'a stream': () => new StreamableFile(Readable.from(['a', 'b'])),
};

/** An answer of Nest's own adapter and of ours, in what a client sees of it. */
async function answers(body: () => unknown, { method = 'get', status = 201, type = '' } = {}) {
  const adapters = [new ExpressAdapter(), new BoundedExpressAdapter({ trustProxy: false } as unknown as Env)];
  return await Promise.all(
    adapters.map(async (adapter) => {
      const app = adapter.getInstance<Express>();
      app.disable('etag');
      app.disable('x-powered-by');
      app.use((_request: Request, response: Response) => {
        if (type) response.setHeader('Content-Type', type);
        void adapter.reply(response, body(), status);
      });
      const answer = await request(app)[method === 'head' ? 'head' : 'get']('/');
      const { date, ...headers } = answer.headers;
      expect(date).toEqual(expect.any(String));
      return { status: answer.status, headers, text: answer.text, body: answer.body as unknown };
    }),
  );
}

describe('replies of the adapter', () => {
  it.each(Object.entries(BODIES))('with %s are those of Nest', async (_, body) => {
    const [theirs, ours] = await answers(body);
    expect(ours).toEqual(theirs);
  });

  it('wait for what is to be done before, and are not sent when that fails', async () => {
    const adapter = new BoundedExpressAdapter({ trustProxy: false } as unknown as Env);
    const app = adapter.getInstance<Express>();
    const done: string[] = [];
    app.use('/:outcome', ({ params }: Request, response: Response, next: NextFunction) => {
      const work = async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        if (params['outcome'] === 'failed') throw new Error('not recorded');
        done.push('recorded');
      };
      doBeforeAnswer(response, work, () => done.push('late'));
      Promise.resolve(adapter.reply(response, { a: 1 })).then(() => done.push('sent'), next);
    });
    app.use((_error: Error, _request: Request, response: Response, _next: NextFunction) => response.sendStatus(503));
    expect((await request(app).get('/passed')).body).toEqual({ a: 1 });
    expect((await request(app).get('/failed')).status).toBe(503);
    expect(done).toEqual(['recorded', 'sent']);
  });

  it('to HEAD have the length and no body', async () => {
    const [theirs, ours] = await answers(BODIES['a plain object'] as () => unknown, { method: 'head' });
    expect(ours).toEqual(theirs);
    expect(ours?.headers['content-length']).not.toBe('0');
  });

  it('keep a content type that was set', async () => {
    const [theirs, ours] = await answers(() => ({ type: 'about:blank' }), { type: 'application/problem+json' });
    expect(ours).toEqual(theirs);
    expect(ours?.headers['content-type']).toMatch(/^application\/problem\+json/);
  });
});

/** What Express offers, as far as it can be seen from outside. @param file to download */
function everything(file: string): Express {
  const app = express();
  app.set('trust proxy', 1);
  app.get('/request', (req, res) => {
    res.json({
      header: req.get('x-test'),
      ip: req.ip,
      ips: req.ips,
      protocol: req.protocol,
      secure: req.secure,
      hostname: req.hostname,
      subdomains: req.subdomains,
      xhr: req.xhr,
      fresh: req.fresh,
      query: req.query,
      path: req.path,
      accepts: req.accepts('json', 'html'),
      languages: req.acceptsLanguages('de', 'en'),
      is: req.is('json'),
      range: req.range(1000),
      sameApp: req.app === app && res.app === app,
      linked: req.res === res && res.req === req,
    });
  });
  app.get('/send', (_, res) => void res.status(201).type('text').send('hello'));
  app.get('/buffer', (_, res) => void res.send(Buffer.from([1, 2, 3])));
  app.get('/jsonp', (_, res) => void res.jsonp({ a: 1 }));
  app.get('/redirect', (_, res) => res.redirect('/send'));
  app.get('/cookie', (_, res) => void res.cookie('a', 'b', { httpOnly: true }).clearCookie('c').vary('Accept').end());
  app.get('/links', (_, res) => void res.links({ next: '/2' }).location('/there').append('X-A', '1').sendStatus(202));
  app.get('/format', (_, res) => void res.format({ json: () => res.json([1]), html: () => res.send('<p>') }));
  app.get('/download', (_, res) => res.download(file, 'named.txt'));
  app.get('/locals', (_, res) => {
    res.locals.seen = true;
    res.json(res.locals);
  });
  app.post('/body', express.json(), (req, res) => void res.json(req.body));
  app.get('/param/:id', (req, res) => void res.json(req.params));
  app.get('/fails', () => {
    throw new Error('on purpose');
  });
  const inner = express();
  inner.get('/deep', (req, res) => {
    res.json({ base: req.baseUrl, url: req.url, original: req.originalUrl, own: req.app === inner });
  });
  app.use('/inner', inner);
  app.get('/inner/after', (req, res) => void res.json({ outer: req.app === app }));
  app.use((error: Error, _: Request, res: Response, __: NextFunction) => void res.status(500).json(error.message));
  return app;
}

const CALLS: [string, (from: request.Agent) => request.Test][] = [
  ['request', (from) => from.get('/request?a=1&b[c]=2').set('X-Test', 'x').set('X-Forwarded-For', '9.8.7.6')],
  [
    'request as others see it',
    (from) =>
      from
        .get('/request')
        .set('X-Requested-With', 'XMLHttpRequest')
        .set('Host', 'a.b.example.com')
        .set('X-Forwarded-Proto', 'https'),
  ],
  [
    'request for a range',
    (from) => from.get('/request').set('Range', 'bytes=0-10').set('Accept-Language', 'en').set('Accept', 'text/html'),
  ],
  ...[
    '/send',
    '/buffer',
    '/jsonp?callback=f',
    '/redirect',
    '/cookie',
    '/links',
    '/format',
    '/download',
    '/locals',
    '/param/%C3%A4',
    '/fails',
    '/inner/deep',
    '/inner/after',
    '/nothing',
    '/param/%E0%A4%A',
  ].map((path): [string, (from: request.Agent) => request.Test] => [path, (from) => from.get(path)]),
  ['HEAD', (from) => from.head('/send')],
  ['OPTIONS', (from) => from.options('/send')],
  ['a conditional GET', (from) => from.get('/send').set('If-None-Match', 'W/"5-qvTGHdzF6KLavt4PO0gs2a6pQ00"')],
  ['JSON', (from) => from.post('/body').send({ a: [1, 2] })],
  ['broken JSON', (from) => from.post('/body').set('Content-Type', 'application/json').send('{')],
];

describe('an Express app with prepared request and response classes', () => {
  let stock: Server;
  let prepared: Server;
  let app: Express;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'prepared-express-'));
    const file = join(folder, 'download.txt');
    writeFileSync(file, 'a file');
    stock = createServer(everything(file));
    app = everything(file);
    prepared = createServer(preparedClasses(app), app);
    for (const server of [stock, prepared]) await once(server.listen(0, '127.0.0.1'), 'listening');
  });

  afterAll(() => {
    stock.close();
    prepared.close();
    rmSync(folder, { recursive: true });
  });

  it.each(CALLS)('answers like any other: %s', async (_, call) => {
    const [expected, found] = [await call(request(stock)), await call(request(prepared))];
    const { date: _a, ...expectedHeaders } = expected.headers;
    const { date: _b, ...headers } = found.headers;
    expect({ status: found.status, headers, body: found.body, text: found.text }).toEqual({
      status: expected.status,
      headers: expectedHeaders,
      body: expected.body,
      text: expected.text,
    });
  });

  it('never changes the prototype of an object', async () => {
    const { port } = prepared.address() as AddressInfo;
    const call = async () => (await fetch(`http://127.0.0.1:${port}/request`)).text();
    // Node loads its client with the first call, and changes prototypes for it.
    await call();
    const changes: string[] = [];
    const set = jest.spyOn(Object, 'setPrototypeOf').mockImplementation((target: object, prototype: object | null) => {
      if (Object.getPrototypeOf(target) !== prototype) changes.push(target.constructor.name);
      Reflect.setPrototypeOf(target, prototype);
      return target;
    });
    try {
      await call();
      expect(set).toHaveBeenCalled();
      expect(changes).toEqual([]);
    } finally {
      set.mockRestore();
    }
  });
});
