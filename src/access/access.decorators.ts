import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Request } from 'express';
import { requestIdOf } from '../platform/observability/request-log.middleware.js';
import type { EndUserRight, Principal } from './principal.js';
import type { Scope } from './scopes.js';

/** What a handler requires of its caller. Every handler declares one; a missing one fails at boot. */
export interface AccessRule {
  scope: Scope | null;
  /** Scopes that are needed as well. */
  alsoScopes: readonly Scope[];
  allowAccessToken: boolean;
  /** With this right, an end user's token will do, too, for recordings of this end user. */
  endUserRight?: EndUserRight;
  /** A valid API key is required, also without a scope. A session will not do. */
  anyKey?: true;
  /** A session is required: with the scope, or whatever its role. Other credentials will not do. */
  session?: true;
}

export const ACCESS_RULE = 'access-rule';

const declare = (rule: AccessRule): MethodDecorator => SetMetadata(ACCESS_RULE, rule);

/** The credentials must hold `scope`, and each of `alsoScopes`. */
export const RequireScope = (scope: Scope, ...alsoScopes: Scope[]): MethodDecorator =>
  applyDecorators(
    declare({ scope, alsoScopes, allowAccessToken: false }),
    ApiExtension('x-required-scope', scope),
    ...(alsoScopes.length > 0 ? [ApiExtension('x-also-required-scopes', alsoScopes)] : []),
  );

/** As {@link RequireScope}, or an access token of an end user. */
export const AllowAccessToken = (scope: Scope): MethodDecorator =>
  applyDecorators(
    declare({ scope, alsoScopes: [], allowAccessToken: true }),
    ApiExtension('x-required-scope', scope),
    ApiSecurity({ key: [], secret: [] }),
    ApiSecurity('pair'),
    ApiSecurity('token'),
  );

/** As {@link RequireScope}, or a token of an account's own issuer that has the right; it reaches only what is its end user's. */
export const AllowEndUser = (right: EndUserRight, scope: Scope): MethodDecorator =>
  applyDecorators(
    declare({ scope, alsoScopes: [], allowAccessToken: false, endUserRight: right }),
    ApiExtension('x-required-scope', scope),
    ApiExtension('x-end-user-right', right),
  );

/** The credentials must be an API key: with the scope, or whatever its scopes. */
export const RequireKey = (scope: Scope | null = null): MethodDecorator =>
  applyDecorators(
    declare({ scope, alsoScopes: [], allowAccessToken: false, anyKey: true }),
    ...(scope === null ? [] : [ApiExtension('x-required-scope', scope)]),
  );

/** A person must have signed in: with a role that has the scope, or whatever the role (D97). */
export const RequireSession = (scope: Scope | null = null): MethodDecorator =>
  applyDecorators(
    declare({ scope, alsoScopes: [], allowAccessToken: false, session: true }),
    ApiExtension('x-session', true),
    ...(scope === null ? [] : [ApiExtension('x-required-scope', scope)]),
  );

/** No credentials are required. */
export const Public = (): MethodDecorator => declare({ scope: null, alsoScopes: [], allowAccessToken: true });

/** A request as guards and handlers see it. */
export interface IdentifiedRequest extends Request {
  /** Set by `CredentialsGuard`; undefined where the credentials are not valid. */
  principal?: Principal | undefined;
  /**
   * Of a request that asks for a WebSocket: whether its credentials are valid now. Null once they are not.
   * @throws when they cannot be checked.
   */
  authenticateAgain?: () => Promise<Principal | null>;
}

/** The caller, as a parameter of a handler that is not public. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<IdentifiedRequest>();
  if (!principal) throw new Error('a public handler has no principal');
  return principal;
});

/** Who does something, as fields of the security log. */
export interface Actor {
  account_id: string;
  by: 'api_key' | 'person';
  by_key_id?: string | null;
  by_person_id?: string;
  request_id: string;
  /** Of the client, as `TRUST_PROXY` tells it. */
  address: string | undefined;
}

/** The caller, as a parameter of a handler that changes credentials. */
export const CurrentActor = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  const request = context.switchToHttp().getRequest<IdentifiedRequest>();
  const { principal } = request;
  if (!principal) throw new Error('a public handler has no principal');
  const { accountId, keyId, personId } = principal;
  return {
    account_id: accountId,
    ...(personId === null ? { by: 'api_key', by_key_id: keyId } : { by: 'person', by_person_id: personId }),
    request_id: requestIdOf(request),
    address: request.ip,
  };
});
