import { ApiProperty } from '@nestjs/swagger';
import { IsIntegerParameter, IsOmittable } from '../../platform/http/input/rules.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { RequestErrorGroup } from './request-errors.service.js';

export class RequestErrorsQuery {
  /** Number of days (UTC), the present one included. Errors are kept for 7, unless the operator says otherwise. */
  @IsOmittable()
  @IsIntegerParameter(1, 30)
  days: number = 7;

  @IsOmittable()
  @IsIntegerParameter(1, 200)
  limit: number = 50;
}

export class RequestErrorView {
  /** Method and path, with the names of its parameters; `/v1/*` for paths that do not exist. */
  @ApiProperty({ example: 'GET /v1/recordings' })
  operation: string;

  /** HTTP status of the responses. */
  @ApiProperty({ type: 'integer', example: 400 })
  status: number;

  /** `error.type` of the responses. */
  @ApiProperty({ example: 'ValidationError' })
  type: string;

  /** `error.code` of the responses: a number or a name. */
  @ApiProperty({ oneOf: [{ type: 'integer' }, { type: 'string' }], example: 2001 })
  code: number | string;

  /** The first field or parameter that broke a rule; null for other errors. */
  @ApiProperty({ type: String, nullable: true, example: 'limit' })
  field: string | null;

  /** Number of requests refused for this reason. */
  @ApiProperty({ type: 'integer', example: 12 })
  count: number;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  first_at: string;

  @ApiProperty({ example: '2026-11-22T09:30:12' })
  last_at: string;

  /** `error.message` of the last one. */
  @ApiProperty({ example: 'limit must be an integer from 1 to 100.' })
  message: string;

  /** `X-Request-Id` of the last ones, the newest first. */
  @ApiProperty({ type: [String], maxItems: 5, example: ['0b1c5b0e-7a8e-4a67-9e6b-0f6c7f0e9d11'] })
  request_ids: string[];
}

export class RequestErrorsView {
  @ApiProperty({ type: 'integer', example: 7 })
  days: number;

  @ApiProperty({ type: [RequestErrorView] })
  errors: RequestErrorView[];

  /** Path of this response. */
  @ApiProperty({ example: '/v1/account/errors?days=7&limit=50' })
  uri: string;
}

export function presentRequestErrors(
  { days, limit }: RequestErrorsQuery,
  groups: readonly RequestErrorGroup[],
): RequestErrorsView {
  return { days, errors: groups.map(presentGroup), uri: `/v1/account/errors?days=${days}&limit=${limit}` };
}

function presentGroup(group: RequestErrorGroup): RequestErrorView {
  return {
    operation: group.operation,
    status: group.status,
    type: group.type,
    code: /^\d+$/.test(group.code) ? Number(group.code) : group.code,
    field: group.field === '' ? null : group.field,
    count: group.count,
    first_at: resourceTime(group.firstAt),
    last_at: resourceTime(group.lastAt),
    message: group.message,
    request_ids: group.requestIds,
  };
}
