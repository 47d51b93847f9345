import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { PageQuery } from '../../platform/http/page.js';
import {
  IsFilter,
  IsInteger,
  IsListOf,
  IsOmittable,
  IsOneOf,
  IsText,
  IsValid,
} from '../../platform/http/input/rules.js';
import { MAX_URL_CHARACTERS, malformedUrl, WEBHOOK_URL_PATTERN } from './sending/address-rules.js';
import { EVENT_KINDS } from './events/event-kinds.js';
import { WEBHOOK_STATUSES, type WebhookStatus } from './webhook.entity.js';

/** Time in which a receiver can be given the new secret (D37). */
export const DEFAULT_OVERLAP_HOURS = 24;

/** The URL's own text. Where it may point to depends on the operator's settings, and is the service's to check. */
function IsWebhookUrl(): PropertyDecorator {
  return applyDecorators(
    IsValid('isWebhookUrl', (value) =>
      typeof value === 'string' ? malformedUrl(value) : 'must be an absolute http or https URL',
    ),
    ApiProperty({ maxLength: MAX_URL_CHARACTERS, pattern: WEBHOOK_URL_PATTERN }),
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
