import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import {
  IsFilter,
  IsInteger,
  IsListOf,
  IsOmittable,
  IsOneOf,
  IsText,
  IsValid,
} from '../../platform/http/input/rules.js';
import { PageFields, pageFields, PageQuery, type PageResult } from '../../platform/http/page.js';
import { creationTime, resourceTime } from '../../platform/http/timestamps.js';
import { EVENT_KINDS } from './events/event-catalogue.js';
import { malformedUrl, MAX_URL_CHARACTERS, OUTGOING_URL_PATTERN } from '../../platform/http/outgoing/address-rules.js';
import { type Webhook, WEBHOOK_STATUSES, type WebhookStatus } from './webhook.entity.js';

/** Time in which a receiver can be given the new secret (D37). */
export const DEFAULT_OVERLAP_HOURS = 24;

/** The URL's own text. Where it may point to depends on the operator's settings, and is the service's to check. */
function IsWebhookUrl(): PropertyDecorator {
  return applyDecorators(
    IsValid('isWebhookUrl', (value) =>
      typeof value === 'string' ? malformedUrl(value) : 'must be an absolute http or https URL',
    ),
    ApiProperty({ maxLength: MAX_URL_CHARACTERS, pattern: OUTGOING_URL_PATTERN }),
  );
}

export class CreateWebhookDto {
  /**
   * Absolute http or https URL with a public host, at most 2048 characters long.
   * @example https://hooks.example.com/voice-notes
   */
  @IsWebhookUrl()
  url: string;

  /**
   * Event types to subscribe to.
   * @example ["recording.transcribed", "recording.failed"]
   */
  @IsListOf(EVENT_KINDS, 'an event type')
  events: string[];

  /**
   * Secret that signs the requests. Generated (`whsec_…`) on create and kept on update when omitted.
   * @example a-secret-of-at-least-16-characters
   */
  @IsOmittable()
  @IsText(16, 256)
  secret?: string;
}

export class UpdateWebhookDto extends CreateWebhookDto {
  /** Disable the webhook, or activate it again. Kept when omitted. */
  @IsOmittable()
  @IsOneOf(WEBHOOK_STATUSES)
  status?: WebhookStatus;

  /**
   * Hours during which `webhook-signature` also holds a signature with the previous secret. Has an effect only together
   * with another `secret`.
   * @example 24
   */
  @ApiPropertyOptional({ default: DEFAULT_OVERLAP_HOURS })
  @IsOmittable()
  @IsInteger(0, 24, '(hours)')
  previous_secret_valid_hours?: number;
}

export class ListWebhooksQuery extends PageQuery {
  /** Lists only webhooks with this status. */
  @IsOmittable()
  @IsFilter(WEBHOOK_STATUSES)
  status?: WebhookStatus;
}

const EXAMPLE_ID = '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6';

export class WebhookView {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'https://hooks.example.com/voice-notes' })
  url: string;

  @ApiProperty({ enum: EVENT_KINDS, isArray: true })
  events: string[];

  @ApiProperty({ enum: WEBHOOK_STATUSES })
  status: WebhookStatus;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  updated_at: string;

  @ApiProperty({ example: `/v1/webhooks/${EXAMPLE_ID}` })
  uri: string;
}

/** The only answer that ever holds the secret. */
export class CreatedWebhookView {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: 'https://hooks.example.com/voice-notes' })
  url: string;

  @ApiProperty({ enum: EVENT_KINDS, isArray: true })
  events: string[];

  @ApiProperty({ example: 'whsec_<base64 of 32 bytes>' })
  secret: string;

  @ApiProperty({ enum: WEBHOOK_STATUSES })
  status: WebhookStatus;

  @ApiProperty({ example: '2026-11-21T10:15:00.250Z' })
  created_at: string;

  @ApiProperty({ example: `/v1/webhooks/${EXAMPLE_ID}` })
  uri: string;

  @ApiProperty({ enum: ['WEBHOOK_CONFIGURED'] })
  code: 'WEBHOOK_CONFIGURED';
}

export class WebhookPage extends PageFields {
  webhooks: WebhookView[];
}

const uriOf = (webhook: Webhook): string => `/v1/webhooks/${webhook.id}`;

export function presentWebhook(webhook: Webhook): WebhookView {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    status: webhook.status,
    created_at: resourceTime(webhook.createdAt),
    updated_at: resourceTime(webhook.updatedAt),
    uri: uriOf(webhook),
  };
}

export function presentCreatedWebhook(webhook: Webhook, secret: string): CreatedWebhookView {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    secret,
    status: webhook.status,
    created_at: creationTime(webhook.createdAt),
    uri: uriOf(webhook),
    code: 'WEBHOOK_CONFIGURED',
  };
}

export function presentWebhookPage(query: PageQuery, found: PageResult<Webhook>): WebhookPage {
  return { webhooks: found.items.map(presentWebhook), ...pageFields('/v1/webhooks', query, found) };
}
