import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiExtension, ApiSecurity } from '@nestjs/swagger';
import type { Scope } from './scopes.js';

/** What a handler requires of its caller. Every handler declares one; a missing one fails at boot. */
export interface AccessRule {
  scope: Scope | null;
  /** Scopes that are needed as well. */
  alsoScopes: readonly Scope[];
  allowAccessToken: boolean;
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

/** No credentials are required. */
export const Public = (): MethodDecorator => declare({ scope: null, alsoScopes: [], allowAccessToken: true });
