import type { ExecutionContext } from '@nestjs/common';
import type { Principal } from '../access/principal.js';
import { ServiceUnavailableError } from '../platform/errors/errors.js';
import { callerOf } from '../platform/observability/request-log.middleware.js';
import type { IncomingMessage } from 'node:http';
import type { AccessRulesService } from './access-rules.service.js';
import type { AddressLimitService } from './address-limit.service.js';
import type { AuthenticatorService } from './authentication/authenticator.service.js';
import { CredentialsGuard } from './credentials.guard.js';
import type { RefusedCredentialsService } from './refusals/refused-credentials.service.js';

const PRINCIPAL = { accountId: 'a', keyId: 'k', tokenId: 't', credential: 'access_token' } as Principal;
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
        authenticate: (headers: object) => {
          steps.push(['authenticate', headers]);
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
    expect(steps).toEqual([['authenticate', HEADERS]]);
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
    expect(callerOf(request)).toStrictEqual({ account_id: 'a', key_id: undefined, token_id: undefined });
  });

  it('lets credentials that are not valid pass, without a caller, and counts them', async () => {
    authenticate = async () => null;
    const { request, passed } = await send();
    expect([passed, request.principal, callerOf(request)]).toEqual([true, undefined, undefined]);
    expect(steps).toEqual([
      ['authenticate', HEADERS],
      ['refused', HEADERS, '10.0.0.1'],
    ]);
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
