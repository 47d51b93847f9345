import { createServer } from 'node:http';
import { once } from 'node:events';
import { signInLink } from './demo.mjs';

describe('signInLink', () => {
  const credentials = { apiKey: 'vnk_a', apiSecret: 'vns_b' };
  let server;
  let status;

  beforeAll(async () => {
    server = createServer((request, response) => {
      response.statusCode = status;
      response.end(JSON.stringify({ code: 'vnc_c' }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterAll(() => server.close());

  test.each([
    [201, '/#code=vnc_c'],
    [429, '/'],
  ])('after %d has a code for one use, and never the secret', async (answered, path) => {
    status = answered;
    const baseUrl = `http://127.0.0.1:${server.address().port}`;
    const [link] = (await signInLink(baseUrl, credentials)).split(' ');
    expect(link).toBe(baseUrl + path);
  });
});
