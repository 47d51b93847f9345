import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from './principal.js';

declare module 'express-serve-static-core' {
  interface Request {
    /** Set by the credentials guard. */
    principal?: Principal;
  }
}

/** The caller, as a handler's parameter. Only for handlers that are not public. */
export const CurrentPrincipal = createParamDecorator((_: unknown, context: ExecutionContext): Principal => {
  const { principal } = context.switchToHttp().getRequest<Request>();
  if (!principal) throw new Error('a public handler has no principal');
  return principal;
});
