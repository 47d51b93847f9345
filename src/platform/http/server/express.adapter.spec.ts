import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express, Request, Response } from 'express';
import request from 'supertest';
import type { Env } from '../../config/env.js';
import { BoundedExpressAdapter } from './express.adapter.js';

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
