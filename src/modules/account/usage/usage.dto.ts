import { InvalidRequestError } from '../../../platform/errors/errors.js';
import { IsFilter, IsIntegerParameter, IsOmittable, IsText } from '../../../platform/http/input/rules.js';
import type { UsageReportOptions } from '../../recordings/usage-counters/usage.service.js';

export const USAGE_GROUPS = ['day', 'key', 'user'] as const;

export class UsageQuery {
  /** Number of days (UTC), the present one included. */
  @IsOmittable()
  @IsIntegerParameter(1, 365)
  days: number = 30;

  /** What the figures are broken down by. */
  @IsOmittable()
  @IsFilter(USAGE_GROUPS)
  by: (typeof USAGE_GROUPS)[number] = 'day';

  /** Number of items on a page, by key or user. Default: 50. */
  @IsOmittable()
  @IsIntegerParameter(1, 100)
  limit?: number;

  /** Cursor from `next_uri`: lists the keys or users after this one. */
  @IsOmittable()
  @IsText(0, 255)
  after?: string;
}

/** @throws InvalidRequestError for pages of days: there is one item for each. */
export function reportOptionsOf({ days, by, limit, after }: UsageQuery): UsageReportOptions {
  for (const [field, value] of Object.entries({ limit, after })) {
    if (by === 'day' && value !== undefined)
      throw new InvalidRequestError({ field, reason: 'is only for by=key and by=user' });
  }
  return { days, by, limit: limit ?? 50, after: after ?? null };
}
