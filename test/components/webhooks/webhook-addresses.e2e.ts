import { Logger } from '@nestjs/common';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { checkedConnector } from '../../../src/platform/http/outgoing/checked-connector.js';
import { Egress } from '../../../src/platform/http/outgoing/egress.js';
import { AllowedNetworks, checkOutgoingUrl, mayConnect } from '../../../src/platform/http/outgoing/address-rules.js';
import { WebhookSenderService } from '../../../src/modules/webhooks/sending/webhook-sender.service.js';
import type { Env } from '../../../src/platform/config/env.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { FIXTURES } from '../../support/paths.js';

/** URL → why it is in the list. */
type Cases = Record<string, string>;

interface Fixture {
  refused: Record<string, Cases>;
  refusedWhenResolved: Record<string, { addresses: string[]; because: string }>;
  notFollowed: Cases;
  accepted: Cases;
}

const fixture = JSON.parse(readFileSync(path.join(FIXTURES, 'webhook-addresses.json'), 'utf8')) as Fixture;

/** 303 and the older two turn a POST into a GET for most clients; the newer two carry its body along. */
const REDIRECTS = [301, 302, 303, 307, 308];

const nobody = new AllowedNetworks([]);
const refusedCases = Object.entries(fixture.refused).flatMap(([group, cases]) =>
  Object.entries(cases).map(([url, because]) => [group, because, url] as const),
);
const resolvedCases = Object.entries(fixture.refusedWhenResolved).map(
  ([url, { addresses, because }]) => [because, url, addresses] as const,
);

/** Never a real look-up: what is not told leads to an address that no test may reach. */
function senderFor(cidrs: string[], addresses: string[] = ['192.0.2.1']): WebhookSenderService {
  return new WebhookSenderService({ webhookAllowedCidrs: cidrs } as unknown as Env, {
    resolve: async () => addresses,
    nameErrorMs: 1,
  });
}

describe('webhook addresses', () => {
  let canary: WebhookReceiver;
  let canary6: WebhookReceiver | null;
  let redirecting: WebhookReceiver;

  const hits = () => canary.requests.length + (canary6?.requests.length ?? 0);
  const fill = (url: string) =>
    url
      .replace('{canary}', String(canary.port))
      .replace('{redirect}', String(redirecting.port))
      .replace('{long}', 'a'.repeat(3000));
  const redirectWith = (status: number) =>
    redirecting.answerAlways({ status, headers: { Location: canary.url('/stolen') } });
  const post = (sender: WebhookSenderService, url: string) =>
    sender.send({ url, headers: {}, body: Buffer.from('{}') });

  beforeAll(async () => {
    canary = await WebhookReceiver.listen();
    // A container may have no IPv6 at all; then its cases have nowhere to go wrong.
    canary6 = await WebhookReceiver.listen({ host: '::1', port: canary.port }).catch(() => null);
    redirecting = await WebhookReceiver.listen({ host: '127.0.0.2' });
    redirectWith(302);
  });

  beforeEach(() => {
    canary.requests.length = 0;
    if (canary6) canary6.requests.length = 0;
  });

  afterAll(async () => {
    await Promise.all([canary.close(), canary6?.close(), redirecting.close()]);
  });

  describe('refused by their text', () => {
    it.each(refusedCases)('%s: %s', async (_group, _because, template) => {
      const url = fill(template);

      expect(checkOutgoingUrl(url, nobody)).toMatch(/^must /);
      expect(await post(senderFor([]), url)).toMatchObject({
        status: null,
        error: expect.stringMatching(/^the URL must /),
      });
      expect(hits()).toBe(0);
    });

    const literals = refusedCases.filter(([group, , url]) => isIP(hostOf(url)) !== 0 && !group.startsWith('ports'));
    it.each(literals)('%s: %s, and again when the connection is made', async (_group, _because, template) => {
      const { signal } = new AbortController();
      const connect = checkedConnector({
        allowed: nobody,
        resolve: async () => [],
        nameErrorMs: 1,
        signal,
        egress: new Egress(),
      });
      const { hostname, port, protocol } = new URL(fill(template));
      const connection = promisify(connect)({ hostname: bare(hostname), port, protocol });

      await expect(connection).rejects.toThrow('private or special address');
      expect(hits()).toBe(0);
    });
  });

  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  it.each(resolvedCases)('refused when resolved: %s', async (_because, template, addresses) => {
    const url = fill(template);

    expect(checkOutgoingUrl(url, nobody)).toBeNull();
    const outcome = await post(senderFor([], [...addresses]), url);
    expect(outcome.status).toBeNull();
    expect(outcome).toMatchObject({ errorKind: 'dns', error: 'the host name has no public address' });
    expect(hits()).toBe(0);
  });

  it('refused when the name leads elsewhere the second time', async () => {
    const answers = [['127.0.0.2'], ['127.0.0.1']];
    const env = { webhookAllowedCidrs: ['127.0.0.2/32'] } as unknown as Env;
    const sender = new WebhookSenderService(env, { resolve: async () => answers.shift() ?? [], nameErrorMs: 1 });
    const url = `http://rebind.example.com:${redirecting.port}/`;

    expect(await post(sender, url)).toMatchObject({ status: 302 });
    expect(await post(sender, url)).toMatchObject({ status: null, error: 'the host name has no public address' });
    expect(hits()).toBe(0);
  });

  it('pinned for a connection that is kept for a moment, and checked anew for the next', async () => {
    const answers = [['127.0.0.2'], ['127.0.0.1']];
    const env = { webhookAllowedCidrs: ['127.0.0.2/32'] } as unknown as Env;
    const sender = new WebhookSenderService(env, { resolve: async () => answers.shift() ?? [], nameErrorMs: 1 });
    const url = `http://rebind.example.com:${redirecting.port}/`;
    redirectWith(200);

    expect(await post(sender, url)).toMatchObject({ status: 200 });
    expect(await post(sender, url)).toMatchObject({ status: 200 });
    expect(answers).toHaveLength(1);
    sender.onApplicationShutdown();
    expect(await post(sender, url)).toMatchObject({ status: null, error: 'the host name has no public address' });
    expect(hits()).toBe(0);
  });

  const redirects = Object.entries(fixture.notFollowed).flatMap(([url, because]) =>
    REDIRECTS.map((status) => [url, because, status] as const),
  );
  it.each(redirects)('not followed: %s %s, with %i', async (template, _because, status) => {
    redirectWith(status);
    const outcome = await post(senderFor(['127.0.0.2/32'], ['127.0.0.2']), fill(template));

    expect(outcome).toMatchObject({ status, error: null });
    expect(hits()).toBe(0);
  });

  it.each(Object.entries(fixture.accepted))('accepted: %s (%s)', (url) => {
    expect(checkOutgoingUrl(url, nobody)).toBeNull();
  });

  describe('a client without these checks', () => {
    const canaryCases = refusedCases.filter(
      ([group, , url]) => url.includes('{canary}') && !isRefusedByNode(group, url),
    );

    it.each(canaryCases)('reaches the canary by its text: %s: %s', async (_group, _because, template) => {
      if (canary6 === null && hostOf(template).includes(':')) return;
      expect(await naiveGet(fill(template))).toBe(200);
      expect(hits()).toBe(1);
    });

    const leading = resolvedCases.filter(([, url, addresses]) => url.includes('{canary}') && addresses.length > 0);
    it.each(leading)('reaches the canary by a name: %s', async (_because, template, addresses) => {
      const address = addresses.at(-1) ?? '';
      if (canary6 === null && address === '::1') return;
      expect(await naiveGet(fill(template), address)).toBe(200);
      expect(hits()).toBe(1);
    });

    it('reaches the canary by a name that leads elsewhere the second time', async () => {
      // It looks the name up to check it, and once more to connect: what it has checked is not what it meets.
      const answers = ['93.184.216.34', '127.0.0.1'];
      expect(mayConnect(answers.shift() ?? '', nobody)).toBe(true);
      expect(await naiveGet(`http://rebind.example.com:${canary.port}/`, answers.shift())).toBe(200);
      expect(hits()).toBe(1);
    });

    it.each(REDIRECTS)('reaches the canary by a redirect with %i', async (status) => {
      redirectWith(status);
      expect((await fetch(redirecting.url(), { method: 'POST', body: '{}' })).status).toBe(200);
      expect(hits()).toBe(1);
    });
  });
});

/** Spellings that lead nowhere even for a trusting client, for reasons of its own. */
function isRefusedByNode(group: string, url: string): boolean {
  const notListening = url.includes('127.127.127.127') || url.includes('[::127.0.0.1]');
  const noSuchName = url.includes('app.localhost') || url.includes('localhost.:');
  return notListening || noSuchName || (group === 'parts that hide the real host' && !URL.canParse(filled(url)));
}

function filled(url: string): string {
  return url.replace('{canary}', '8000');
}

function hostOf(url: string): string {
  return URL.canParse(filled(url)) ? bare(new URL(filled(url)).hostname) : '';
}

function bare(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

async function naiveGet(url: string, address?: string): Promise<number | undefined> {
  const lookup: LookupFunction | undefined =
    address === undefined
      ? undefined
      : (_name, _options, callback) => callback(null, [{ address, family: isIP(address) }]);
  return new Promise((resolve, reject) => {
    http.get(url, { lookup, agent: false }, (answer) => resolve(answer.resume().statusCode)).on('error', reject);
  });
}
