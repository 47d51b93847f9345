import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { requestIdOf } from '../platform/observability/request-log.middleware.js';
import type { IdentifiedRequest } from './current-principal.decorator.js';

/** Who does something, as fields of the security log. */
export interface Actor {
  account_id: string;
  by: 'api_key';
  by_key_id: string | null;
  request_id: string;
  /** Of the client, as `TRUST_PROXY` tells it. */
  address: string | undefined;
}

/** The caller, as a parameter of a handler that changes credentials. */
export const CurrentActor = createParamDecorator((_: unknown, context: ExecutionContext): Actor => {
  const request = context.switchToHttp().getRequest<IdentifiedRequest>();
  const { principal } = request;
  if (!principal) throw new Error('a public handler has no principal');
  const { accountId, keyId } = principal;
  return {
    account_id: accountId,
    by: 'api_key',
    by_key_id: keyId,
    request_id: requestIdOf(request),
    address: request.ip,
  };
});
