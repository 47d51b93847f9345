import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { catchError, type Observable } from 'rxjs';
import type { IdentifiedRequest } from '../../access/current-principal.decorator.js';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { JsonBody } from '../../platform/http/input/json/json-body.js';
import { WebhooksService } from './webhooks.service.js';

/**
 * Names a forbidden URL together with the other wrong fields of a body. The validation pipe finds those, but it does not
 * know the operator's settings, which decide where a webhook may point.
 */
@Injectable()
export class WebhookUrlInterceptor implements NestInterceptor {
  constructor(private readonly webhooks: WebhooksService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<IdentifiedRequest>();
    return next.handle().pipe(catchError(async (error: unknown) => await this.refuse(error, request)));
  }

  private async refuse(error: unknown, request: IdentifiedRequest): Promise<never> {
    const isIncomplete = error instanceof InvalidRequestError && error.broken.every(({ field }) => field !== 'url');
    if (!isIncomplete || !request.principal || !(request.body instanceof JsonBody)) throw error;
    const url: unknown = Reflect.get(await request.body.read(), 'url');
    const id = request.params['webhook_id'] as string | undefined;
    const rule = typeof url === 'string' ? await this.webhooks.brokenUrl(request.principal.accountId, url, id) : null;
    throw rule ? new InvalidRequestError(rule, ...error.broken) : error;
  }
}
