import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Logger } from '@nestjs/common';
import type { FlattenedJWSInput, JWTVerifyGetKey } from 'jose';
import type { Env } from '../../platform/config/env.js';
import { KeySetsService } from './key-sets.service.js';

const MINUTE = 60_000;
const NONE = {} as FlattenedJWSInput;

describe('KeySetsService (D94)', () => {
  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  let server: Server;
  let url: string;
  /** What the source answers with. */
  let answer: { status: number; body: string };
  let requests: number;
  let held: (() => void)[] | null;
  let now: number;
  let sets: KeySetsService;

  beforeEach(async () => {
    [requests, held, now] = [0, null, Date.now()];
    jest.spyOn(Date, 'now').mockImplementation(() => now);
    publish('first');
    server = createServer((_, response) => {
      requests++;
      const send = (): void => void response.writeHead(answer.status, { Location: '/other' }).end(answer.body);
      if (held) held.push(send);
      else send();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
    sets = new KeySetsService({ webhookAllowedCidrs: ['127.0.0.0/8'] } as unknown as Env);
  });

  afterEach(async () => {
    jest.restoreAllMocks();
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  });

  const keyNamed = (kid: string): object => {
    const { publicKey } = generateKeyPairSync('ed25519') as { publicKey: KeyObject };
    return { ...publicKey.export({ format: 'jwk' }), kid };
  };
  const publish = (...kids: string[]): void => {
    answer = { status: 200, body: JSON.stringify({ keys: kids.map(keyNamed) }) };
  };
  const has = async (keys: JWTVerifyGetKey | null, kid: string): Promise<boolean | null> => {
    if (!keys) return null;
    try {
      return Boolean(await keys({ alg: 'EdDSA', kid }, NONE));
    } catch {
      return false;
    }
  };

  it('fetches the keys once for requests at the same time, and again after 10 minutes', async () => {
    const found = await Promise.all([sets.get(url), sets.get(url), sets.get(url)]);
    expect(await Promise.all(found.map((keys) => has(keys, 'first')))).toEqual([true, true, true]);
    publish('second');
    now += 10 * MINUTE - 1;
    expect(await has(await sets.get(url), 'first')).toBe(true);
    expect(requests).toBe(1);
    now += 1;
    const keys = await sets.get(url);
    expect([await has(keys, 'first'), await has(keys, 'second')]).toEqual([false, true]);
    expect(requests).toBe(2);
  });

  it('fetches for unknown keys, at most every 30 s however many ask', async () => {
    await sets.get(url);
    publish('first', 'rotated');
    expect(await sets.renew(url)).toBeNull();
    expect(requests).toBe(1);
    now += 30_000;
    const renewed = await Promise.all([sets.renew(url), sets.renew(url)]);
    expect(await Promise.all(renewed.map((keys) => has(keys, 'rotated')))).toEqual([true, true]);
    for (let i = 0; i < 10; i++) await sets.renew(url);
    expect(requests).toBe(2);
  });

  it('keeps the keys for a day while the source is down, and holds nobody for it', async () => {
    await sets.get(url);
    answer = { status: 503, body: '' };
    now += 11 * MINUTE;
    expect(await has(await sets.get(url), 'first')).toBe(true);
    held = [];
    now += MINUTE;
    // The source does not answer at all, and the keys are there nevertheless.
    expect(await has(await sets.get(url), 'first')).toBe(true);
    now += 24 * 60 * MINUTE;
    expect(await sets.get(url)).toBeNull();
  });

  it.each([
    ['a redirect', () => ({ status: 302, body: '' })],
    ['what is no JSON', () => ({ status: 200, body: '<html>' })],
    ['what is no key set', () => ({ status: 200, body: '{"keys":7}' })],
    ['more than 256 KiB', () => ({ status: 200, body: `{"keys":[],"x":"${'x'.repeat(262_144)}"}` })],
    ['an error', () => ({ status: 500, body: '' })],
  ])('has no keys of a source that answers with %s, and asks again after 30 s', async (_, given) => {
    answer = given();
    expect([await sets.get(url), await sets.get(url)]).toEqual([null, null]);
    expect(requests).toBe(1);
    publish('first');
    now += 30_000;
    expect(await has(await sets.get(url), 'first')).toBe(true);
  });

  it('does not ask an address of the operator’s network, nor a host without TLS', async () => {
    const strict = new KeySetsService({ webhookAllowedCidrs: [] } as unknown as Env);
    expect(await strict.get(url)).toBeNull();
    expect(await strict.get('http://login.example.com/jwks.json')).toBeNull();
    expect(requests).toBe(0);
  });
});
