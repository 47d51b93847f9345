import {
  Body,
  type CallHandler,
  Controller,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Injectable,
  type NestInterceptor,
  Param,
  Post,
  Put,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { catchError, type Observable } from 'rxjs';
import {
  RequireScope,
  type Actor,
  CurrentActor,
  CurrentPrincipal,
  type IdentifiedRequest,
} from '../../access/access.decorators.js';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError, LimitExceededError, NotFoundError } from '../../platform/errors/errors.js';
import { JsonBody } from '../../platform/http/input/json-body.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { ApiErrors } from '../../platform/http/openapi.js';
import { SecurityLogService } from '../../platform/observability/security-log.service.js';
import {
  CreatedWebhookView,
  CreateWebhookDto,
  ListWebhooksQuery,
  presentCreatedWebhook,
  presentWebhook,
  presentWebhookPage,
  UpdateWebhookDto,
  WebhookPage,
  WebhookView,
} from './webhooks.dto.js';
import { WebhooksService } from './webhooks.service.js';

/**
 * Names a forbidden URL together with the other wrong fields of a body. The validation pipe finds those, but it does not
 * know the operator's settings, which decide where a webhook may point.
 */
@Injectable()
class WebhookUrlInterceptor implements NestInterceptor {
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

const NO_WEBHOOK = new NotFoundError('webhook');
const INVALID_URL = new InvalidRequestError({ field: 'url', reason: 'must be an absolute http or https URL' });

@ApiTags('Webhooks')
@Controller('v1/webhooks')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly securityLog: SecurityLogService,
  ) {}

  /**
   * List webhooks
   *
   * @remarks
   * Returns the webhooks of the account, newest first.
   */
  @Get()
  @RequireScope('webhooks:read')
  async list(@CurrentPrincipal() { accountId }: Principal, @Query() query: ListWebhooksQuery): Promise<WebhookPage> {
    return presentWebhookPage(query, await this.webhooks.list(accountId, query));
  }

  /**
   * Create a webhook
   *
   * @remarks
   * Sends a signed request to the URL for each event of the chosen types from now on. The response is the only one that
   * shows the secret. An account can have 50 webhooks.
   */
  @Post()
  @UseInterceptors(WebhookUrlInterceptor)
  @ApiErrors(INVALID_URL, new LimitExceededError('webhooks', 50))
  @RequireScope('webhooks:write')
  async create(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Body() dto: CreateWebhookDto,
    @Query() _query: NoQuery,
  ): Promise<CreatedWebhookView> {
    const { webhook, secret } = await this.webhooks.create(accountId, dto);
    this.securityLog.record('webhook created', { ...actor, webhook_id: webhook.id });
    return presentCreatedWebhook(webhook, secret);
  }

  /**
   * Get a webhook
   *
   * @remarks
   * Returns the webhook without its secret.
   * @param id Identifier of the webhook.
   */
  @Get(':webhook_id')
  @ApiErrors(NO_WEBHOOK)
  @RequireScope('webhooks:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('webhook_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<WebhookView> {
    return presentWebhook(await this.webhooks.get(accountId, id));
  }

  /**
   * Update a webhook
   *
   * @remarks
   * Replaces the URL and the event types. The secret and the status are kept when omitted. After another secret was set,
   * `webhook-signature` also holds a signature with the previous one for a day, or for `previous_secret_valid_hours`;
   * `X-Service-Signature` is made with the new one at once. Disabling a webhook fails its
   * pending deliveries.
   * @param id Identifier of the webhook.
   */
  @Put(':webhook_id')
  @UseInterceptors(WebhookUrlInterceptor)
  @ApiErrors(INVALID_URL, NO_WEBHOOK)
  @RequireScope('webhooks:write')
  async update(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('webhook_id') id: string,
    @Body() dto: UpdateWebhookDto,
    @Query() _query: NoQuery,
  ): Promise<WebhookView> {
    const webhook = await this.webhooks.update(accountId, id, dto);
    const { status } = webhook;
    this.securityLog.record('webhook changed', {
      ...actor,
      webhook_id: id,
      status,
      secret_sent: dto.secret !== undefined,
    });
    return presentWebhook(webhook);
  }

  /**
   * Delete a webhook
   *
   * @remarks
   * Deletes the webhook and its delivery log. Pending deliveries are not sent.
   * @param id Identifier of the webhook.
   */
  @Delete(':webhook_id')
  @ApiErrors(NO_WEBHOOK)
  @HttpCode(204)
  @RequireScope('webhooks:write')
  async delete(
    @CurrentPrincipal() { accountId }: Principal,
    @CurrentActor() actor: Actor,
    @Param('webhook_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.webhooks.delete(accountId, id);
    this.securityLog.record('webhook deleted', { ...actor, webhook_id: id });
  }
}
