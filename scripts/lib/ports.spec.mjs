import { createServer } from 'node:net';

import { freePort, isFree, nextFreePort } from './ports.mjs';

describe('ports', () => {
  let server;
  let taken;

  beforeEach(async () => {
    server = createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    taken = server.address().port;
  });

  afterEach(() => new Promise((resolve) => server.close(resolve)));

  test('a port that somebody listens on is not free', async () => {
    expect(await isFree(taken)).toBe(false);
  });

  test('a preferred port that is taken is replaced', async () => {
    expect(await freePort(taken)).not.toBe(taken);
  });

  test('the next free port comes after the taken one', async () => {
    expect(await nextFreePort(taken)).toBeGreaterThan(taken);
  });
});
