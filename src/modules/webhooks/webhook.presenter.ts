import { ApiProperty } from '@nestjs/swagger';
import { type PageResult, PageFields, pageFields, type PageQuery } from '../../platform/http/page.js';
import { creationTime, resourceTime } from '../../platform/http/timestamps.js';
import { EVENT_KINDS } from './events/event-kinds.js';
import { type Webhook, WEBHOOK_STATUSES, type WebhookStatus } from './webhook.entity.js';

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
