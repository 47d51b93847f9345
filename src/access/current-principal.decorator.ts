import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from './principal.js';

/** A request as handlers see it. */
export interface IdentifiedRequest extends Request {
  /** Set by the credentials guard. */
  principal?: Principal;
}

/** The caller, as a handler's parameter. Only for handlers that are not public. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<IdentifiedRequest>();
  if (!principal) throw new Error('a public handler has no principal');
  return principal;
});
