import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn, IsString, ValidateIf } from 'class-validator';
import { PageQuery } from '../../platform/http/page.js';
import { IsText } from '../../platform/http/input/rules.js';
import { MAX_URL_CHARACTERS } from './sending/address-rules.js';
import { EVENT_KINDS, type EventKind } from './events/webhook-event.entity.js';
import { WEBHOOK_STATUSES, type WebhookStatus } from './webhook.entity.js';

const EVENTS_RULE = {
  message: `$property must be a list of at least one of ${EVENT_KINDS.join(', ')}, without repeats`,
};
const STATUS_RULE = { message: `$property must be one of ${WEBHOOK_STATUSES.join(', ')}` };

export class CreateWebhookDto {
  /**
   * Absolute http or https URL, at most 2048 characters, on a public address.
   * @example https://hooks.example.com/voice-notes
   */
  @IsString({ message: '$property must be a URL' })
  @ApiProperty({ maxLength: MAX_URL_CHARACTERS })
  url: string;

  /**
   * What to be told of.
   * @example ["recording.transcribed", "recording.failed"]
   */
  @IsArray(EVENTS_RULE)
  @ArrayNotEmpty(EVENTS_RULE)
  @ArrayUnique(EVENTS_RULE)
  @IsIn(EVENT_KINDS, { each: true, ...EVENTS_RULE })
  events: EventKind[];

  /**
   * Signs the deliveries; made up (`whsec_…`) or kept when left out.
   * @example a-secret-of-at-least-16-characters
   */
  @ValidateIf((dto: CreateWebhookDto) => dto.secret !== undefined)
  @IsText(16, 256)
  secret?: string;
}

export class UpdateWebhookDto extends CreateWebhookDto {
  /** Kept when left out. */
  @ValidateIf((dto: UpdateWebhookDto) => dto.status !== undefined)
  @IsIn(WEBHOOK_STATUSES, STATUS_RULE)
  status?: WebhookStatus;
}

export class ListWebhooksQuery extends PageQuery {
  @ValidateIf((query: ListWebhooksQuery) => query.status !== undefined)
  @IsIn(WEBHOOK_STATUSES, STATUS_RULE)
  status?: WebhookStatus;
}
