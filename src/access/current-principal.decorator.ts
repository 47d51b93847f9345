import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from './principal.js';

/** A request as guards and handlers see it. */
export interface IdentifiedRequest extends Request {
  /** Set by `CredentialsGuard`; undefined where the credentials are not valid. */
  principal?: Principal | undefined;
}

/** The caller, as a parameter of a handler that is not public. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<IdentifiedRequest>();
  if (!principal) throw new Error('a public handler has no principal');
  return principal;
});
