import { SetMetadata } from '@nestjs/common';
import type { Scope } from './scopes.js';

/** What a handler asks of whoever calls it. Every handler under `/v1` declares one; a missing one fails at boot. */
export interface AccessRule {
  scope: Scope | null;
  allowAccessToken: boolean;
}

export const ACCESS_RULE = 'access-rule';

/** The credentials must hold `scope`. */
export const RequireScope = (scope: Scope): MethodDecorator =>
  SetMetadata(ACCESS_RULE, { scope, allowAccessToken: false } satisfies AccessRule);

/** As {@link RequireScope}, and an end user's access token will do too. */
export const AllowAccessToken = (scope: Scope): MethodDecorator =>
  SetMetadata(ACCESS_RULE, { scope, allowAccessToken: true } satisfies AccessRule);

/** No credentials are asked for. */
export const Public = (): MethodDecorator =>
  SetMetadata(ACCESS_RULE, { scope: null, allowAccessToken: true } satisfies AccessRule);
