import type { IncomingMessage } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { Principal } from '../access/principal.js';
import { ServiceUnavailableError } from '../platform/errors/errors.js';
import { callerOf } from '../platform/observability/request-log.middleware.js';
import type { SecurityLogService } from '../platform/observability/security-log.service.js';
import type { AuthenticatorService } from './authenticator.service.js';
import { CredentialsGuard, RefusedCredentialsService } from './credentials.guard.js';
import type { AddressLimitService } from './plan-throttler.guard.js';
import type { AccessRulesService } from './scope.guard.js';

const PRINCIPAL = {
  accountId: 'a',
  keyId: 'k',
  tokenId: 't',
  credential: 'access_token',
  refusedAddress: null,
} as Principal;
const HEADERS = { authorization: 'Bearer token' };

describe('CredentialsGuard', () => {
  let authenticate: () => Promise<Principal | null>;
  let scope: string | null;
  let steps: unknown[];

  beforeEach(() => {
    [scope, steps] = ['recordings:read', []];
    authenticate = async () => PRINCIPAL;
  });

  async function send(path = '/v1/recordings') {
    const request = { path, headers: HEADERS, ip: '10.0.0.1' } as unknown as IncomingMessage & {
      principal?: Principal;
    };
    const response = { setHeader: (...header: unknown[]) => steps.push(header) };
    const guard = new CredentialsGuard(
      {
        authenticate: (...given: unknown[]) => {
          steps.push(['authenticate', ...given]);
          return authenticate();
        },
      } as unknown as AuthenticatorService,
      {
        showHeaders: async (...shown: object[]) => {
          await new Promise((resolve) => void setImmediate(resolve));
          steps.push(['headers', shown[0] === request, shown[1] === response]);
        },
      } as unknown as AddressLimitService,
      { of: () => ({ scope }) } as unknown as AccessRulesService,
      { count: (...counted: unknown[]) => steps.push(['refused', ...counted]) } as unknown as RefusedCredentialsService,
    );
    const http = { getRequest: () => request, getResponse: () => response };
    const passed = guard.canActivate({ switchToHttp: () => http } as unknown as ExecutionContext);
    return { request, passed: await passed };
  }

  it('names the caller to the handlers and to the log', async () => {
    const { request, passed } = await send();
    expect([passed, request.principal]).toEqual([true, PRINCIPAL]);
    expect(callerOf(request)).toEqual({ account_id: 'a', key_id: 'k', token_id: 't' });
    expect(steps).toEqual([['authenticate', HEADERS, '10.0.0.1']]);
  });

  it('says what an API key may do (D68)', async () => {
    const scopes = ['recordings:read', 'webhooks:read'];
    authenticate = async () => ({ ...PRINCIPAL, credential: 'api_key', scopes });
    await send();
    expect(steps.at(-1)).toEqual(['X-Service-Scopes', 'recordings:read, webhooks:read']);
  });

  it('leaves out of the log what the caller has not', async () => {
    authenticate = async () => ({ ...PRINCIPAL, keyId: null, tokenId: null });
    const { request } = await send();
    const nobody = { key_id: undefined, token_id: undefined, person_id: undefined };
    expect(callerOf(request)).toStrictEqual({ account_id: 'a', ...nobody });
  });

  it('lets credentials that are not valid pass, without a caller, and counts them', async () => {
    authenticate = async () => null;
    const { request, passed } = await send();
    expect([passed, request.principal, callerOf(request)]).toEqual([true, undefined, undefined]);
    expect(steps).toEqual([
      ['authenticate', HEADERS, '10.0.0.1'],
      ['refused', HEADERS, '10.0.0.1'],
    ]);
  });

  it('counts a key that may not be used from its address, and does not say what the key may do (D95)', async () => {
    authenticate = async () => ({ ...PRINCIPAL, credential: 'api_key', scopes: [], refusedAddress: '10.0.0.1' });
    const { passed, request } = await send();
    expect([passed, request.principal?.refusedAddress]).toEqual([true, '10.0.0.1']);
    expect(steps.slice(1)).toEqual([['refused', HEADERS, '10.0.0.1', 'address']]);
  });

  it.each(['/health/ready', '/v10', '/docs/v1', '/'])(
    'does not look at credentials outside the API: %s',
    async (path) => {
      expect((await send(path)).passed).toBe(true);
      expect(steps).toEqual([]);
    },
  );

  it('refuses when credentials cannot be checked, with the limit of the address, and counts nothing', async () => {
    authenticate = () => Promise.reject(new ServiceUnavailableError(1));
    await expect(send('/v1')).rejects.toThrow(ServiceUnavailableError);
    expect(steps.slice(1)).toEqual([['headers', true, true]]);
  });

  it('serves what is public also then', async () => {
    scope = null;
    authenticate = () => Promise.reject(new ServiceUnavailableError(1));
    const { passed, request } = await send();
    expect([passed, request.principal, steps.length]).toEqual([true, undefined, 1]);
  });
});

const PAIR = { 'x-service-api-key': 'vnk_wrong', 'x-service-api-secret': 'vns_wrong' };
const TOKEN = { authorization: 'Bearer wrong' };

describe('RefusedCredentialsService', () => {
  let recorded: [string, object][];
  let registry: Registry;
  let refused: RefusedCredentialsService;

  beforeEach(() => {
    jest.useFakeTimers();
    recorded = [];
    registry = new Registry();
    const log = { record: (event: string, fields: object) => void recorded.push([event, fields]) };
    refused = new RefusedCredentialsService(log as SecurityLogService, registry);
  });

  afterEach(() => jest.useRealTimers());

  it('logs the counts of a minute in one line, with the addresses that were refused most', () => {
    for (let i = 0; i < 1000; i++) refused.count(PAIR, `10.0.0.${i % 8 === 0 ? 1 : i % 200}`);
    for (let i = 0; i < 7; i++) refused.count(TOKEN, '10.0.1.1');
    expect(recorded).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(recorded).toEqual([
      ['credentials refused', expect.objectContaining({ key_pairs: 1000, access_tokens: 7, most: expect.any(Array) })],
    ]);
    const [[, line]] = recorded as [[string, { most: object[] }]];
    expect(line.most).toHaveLength(5);
    expect(line.most[0]).toEqual({ address: '10.0.0.1', count: 130 });
    expect(JSON.stringify(recorded)).not.toContain('wrong');
  });

  it('names the addresses that were refused most, the most refused first, whichever came first', () => {
    for (const [address, count] of Object.entries({ a: 1, b: 3, c: 6, d: 2, e: 5, f: 4 })) {
      for (let i = 0; i < count; i++) refused.count(PAIR, address);
    }
    jest.advanceTimersByTime(60_000);
    expect(recorded[0]?.[1]).toMatchObject({
      addresses: 6,
      most: Object.entries({ c: 6, e: 5, f: 4, b: 3, d: 2 }).map(([address, count]) => ({ address, count })),
    });
  });

  it('counts half a key pair as one, and an address that is not known', () => {
    refused.count({ 'x-service-api-key': 'vnk_wrong' }, undefined);
    refused.onApplicationShutdown();
    const most = [{ address: 'unknown', count: 1 }];
    expect(recorded[0]?.[1]).toEqual({
      key_pairs: 1,
      access_tokens: 0,
      sessions: 0,
      from_other_addresses: 0,
      addresses: 1,
      most,
    });
    // What was logged at the end is not logged a second time.
    jest.advanceTimersByTime(30_000);
    refused.count(PAIR, 'a');
    jest.advanceTimersByTime(59_999);
    expect(recorded).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(recorded).toHaveLength(2);
  });

  it('logs each minute from the first refusal on, and keeps no process alive', () => {
    refused.count(PAIR, 'a');
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(59_999);
    refused.count(PAIR, 'a');
    expect(recorded).toHaveLength(0);
    jest.advanceTimersByTime(1);
    expect(recorded).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('begins anew, and logs nothing in a minute without any', () => {
    refused.count(PAIR, '10.0.0.1');
    jest.advanceTimersByTime(180_000);
    refused.count(TOKEN, '10.0.0.2');
    refused.onApplicationShutdown();
    refused.onApplicationShutdown();
    expect(recorded.map(([, fields]) => fields)).toEqual([
      {
        key_pairs: 1,
        access_tokens: 0,
        sessions: 0,
        from_other_addresses: 0,
        addresses: 1,
        most: [{ address: '10.0.0.1', count: 1 }],
      },
      {
        key_pairs: 0,
        access_tokens: 1,
        sessions: 0,
        from_other_addresses: 0,
        addresses: 1,
        most: [{ address: '10.0.0.2', count: 1 }],
      },
    ]);
  });

  it('counts valid keys from addresses that they do not allow apart (D95)', () => {
    refused.count(PAIR, '10.0.0.1', 'address');
    refused.onApplicationShutdown();
    expect(recorded[0]?.[1]).toMatchObject({ key_pairs: 0, from_other_addresses: 1, addresses: 1 });
  });

  it('does not count requests without credentials, nor other schemes', async () => {
    refused.count({}, '10.0.0.1');
    refused.count({ authorization: 'Basic dXNlcjpwYXNz' }, '10.0.0.1');
    jest.advanceTimersByTime(60_000);
    expect(recorded).toEqual([]);
    refused.count(PAIR, undefined);
    refused.count(TOKEN, undefined);
    refused.count(TOKEN, undefined);
    const metric = await registry.getSingleMetricAsString('credentials_refused_total');
    expect(metric).toMatch(/\{kind="key_pair"\} 1/);
    expect(metric).toMatch(/\{kind="access_token"\} 2/);
  });

  it('tells a bounded number of addresses apart', () => {
    for (let i = 0; i < 12_000; i++) refused.count(PAIR, `address ${i}`);
    for (let i = 0; i < 2; i++) refused.count(PAIR, 'address 0');
    refused.onApplicationShutdown();
    expect(recorded[0]?.[1]).toMatchObject({
      key_pairs: 12_002,
      addresses: 10_000,
      most: [{ address: 'address 0', count: 3 }, {}, {}, {}, {}],
    });
  });
});
