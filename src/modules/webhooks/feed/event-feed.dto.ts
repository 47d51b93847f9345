import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsIntegerParameter, IsOmittable, IsValid } from '../../../platform/http/input/rules.js';

const AFTER_RULE = 'must be the sequence of an event, or latest';

export const isSequence = (value: unknown): boolean => typeof value === 'string' && /^[0-9]{1,15}$/.test(value);

function IsAfter(): PropertyDecorator {
  return applyDecorators(
    IsValid('isAfter', (value) => {
      if (Array.isArray(value)) return 'may be given only once';
      return isSequence(value) || value === 'latest' ? null : AFTER_RULE;
    }),
    ApiProperty({ type: 'string', pattern: '^([0-9]{1,15}|latest)$', example: '0' }),
  );
}

/** For the header that says the same. */
export const LAST_EVENT_ID_RULE = 'must be the id of an event of this stream';

export class StreamEventsQuery {
  /** Only events after this sequence; `latest` for those that are yet to come. From the oldest when omitted. */
  @IsOmittable()
  @IsAfter()
  after: string = '0';
}

const MAX_LIMIT = 100;

export class ListEventsQuery extends StreamEventsQuery {
  /** Number of events on a page. */
  @IsOmittable()
  @IsIntegerParameter(1, MAX_LIMIT)
  limit: number = 50;
}
