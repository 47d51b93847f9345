import type { IncomingHttpHeaders } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Response } from 'express';
import { Counter, Registry } from 'prom-client';
import { setActing } from '../access/acting.js';
import type { IdentifiedRequest } from '../access/access.decorators.js';
import { isPublic } from '../access/check-access.js';
import type { Principal } from '../access/principal.js';
import { sessionTokenOf } from '../access/session-cookie.js';
import { isApiRequest } from '../platform/http/server/request-line.js';
import { upgradeOf } from '../platform/http/server/upgrade.js';
import { setCaller } from '../platform/observability/request-log.middleware.js';
import { SecurityLogService } from '../platform/observability/security-log.service.js';
import { AuthenticatorService, readCredentials } from './authenticator.service.js';
import { AddressLimitService } from './plan-throttler.guard.js';
import { AccessRulesService } from './scope.guard.js';

const INTERVAL_MS = 60_000;
/** Addresses that are told apart in an interval, to bound memory. */
const MAX_ADDRESSES = 10_000;
const NAMED_ADDRESSES = 5;

/** `address`: a valid key pair from an address that the key does not allow (D95). */
type Kind = 'key_pair' | 'access_token' | 'session' | 'address';

/** Counts refused credentials and logs the counts once a minute: a line each would let strangers fill the log. */
@Injectable()
export class RefusedCredentialsService implements OnApplicationShutdown {
  private readonly refusals: Counter<'kind'>;
  private counts: Record<Kind, number> = { key_pair: 0, access_token: 0, session: 0, address: 0 };
  private addresses = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: SecurityLogService,
    registry: Registry,
  ) {
    this.refusals = new Counter({
      name: 'credentials_refused_total',
      help: 'Requests whose key pair, access token or session was not valid, or whose address the key does not allow.',
      labelNames: ['kind'],
      registers: [registry],
    });
  }

  /** Requests without any credentials do not count. */
  count(headers: IncomingHttpHeaders, address: string | undefined, kind = kindOf(headers)): void {
    if (kind === null) return;
    this.refusals.inc({ kind });
    this.counts[kind]++;
    const name = address ?? 'unknown';
    const before = this.addresses.get(name);
    if (before !== undefined || this.addresses.size < MAX_ADDRESSES) this.addresses.set(name, (before ?? 0) + 1);
    this.timer ??= setTimeout(() => this.flush(), INTERVAL_MS).unref();
  }

  onApplicationShutdown(): void {
    if (this.timer) this.flush();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const most = [...this.addresses].toSorted(([, a], [, b]) => b - a).slice(0, NAMED_ADDRESSES);
    this.log.record('credentials refused', {
      key_pairs: this.counts.key_pair,
      access_tokens: this.counts.access_token,
      sessions: this.counts.session,
      from_other_addresses: this.counts.address,
      addresses: this.addresses.size,
      most: most.map(([address, count]) => ({ address, count })),
    });
    this.counts = { key_pair: 0, access_token: 0, session: 0, address: 0 };
    this.addresses = new Map();
  }
}

/** Null for a request without credentials. */
function kindOf(headers: IncomingHttpHeaders): Kind | null {
  const sent = readCredentials(headers);
  if (!sent || sent.keyPair) return 'key_pair';
  if (sent.token !== null) return 'access_token';
  return sessionTokenOf(headers) === null ? null : 'session';
}

const SCOPES_HEADER = 'X-Service-Scopes';

/**
 * Authenticates: sets `request.principal` where the credentials are valid. It lets other requests pass, because they too
 * must take a token, of their address (D6); `ScopeGuard` answers them with 401.
 */
@Injectable()
export class CredentialsGuard implements CanActivate {
  constructor(
    private readonly authenticator: AuthenticatorService,
    private readonly addressLimit: AddressLimitService,
    private readonly rules: AccessRulesService,
    private readonly refused: RefusedCredentialsService,
  ) {}

  /** @throws ServiceUnavailableError when the credentials cannot be checked. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    if (!isApiRequest(request)) return true;
    try {
      const principal = await this.authenticator.authenticate(request.headers, request.ip);
      if (principal) {
        if (principal.refusedAddress !== null) this.refused.count(request.headers, request.ip, 'address');
        identify(request, response, principal);
        if (upgradeOf(request)) this.followCredentials(request);
      } else this.refused.count(request.headers, request.ip);
    } catch (error) {
      if (isPublic(this.rules.of(context))) return true;
      await this.addressLimit.showHeaders(request, response);
      throw error;
    }
    return true;
  }

  private followCredentials(request: IdentifiedRequest): void {
    const { headers, ip } = request;
    request.authenticateAgain = () => this.authenticator.authenticateAgain(headers, ip);
  }
}

function identify(request: IdentifiedRequest, response: Response, principal: Principal): void {
  request.principal = principal;
  setActing(principal);
  const { accountId, keyId, tokenId, personId, credential, scopes, refusedAddress } = principal;
  // What a key may do, also for clients that may not read the list of keys (D68).
  if (credential !== 'access_token' && refusedAddress === null) response.setHeader(SCOPES_HEADER, scopes.join(', '));
  setCaller(request, {
    account_id: accountId,
    key_id: keyId ?? undefined,
    token_id: tokenId ?? undefined,
    person_id: personId ?? undefined,
  });
}
