import { PageQuery } from '../../../platform/http/page.js';
import { IsDay, IsFilter, IsOmittable, IsOneOf } from '../../../platform/http/input/rules.js';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../deliveries/delivery.entity.js';
import { REDELIVERY_STATUSES, type RedeliveryStatus } from './redeliveries/webhook-redelivery.entity.js';

export class ListDeliveriesQuery extends PageQuery {
  /** Lists only deliveries with this status. */
  @IsOmittable()
  @IsFilter(DELIVERY_STATUSES)
  status?: DeliveryStatus;

  /**
   * First day of the events (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day of the events (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;
}

export class RedeliverDto {
  /**
   * Only deliveries with this status. `missed` are the events of the webhook's types that have no delivery to it,
   * because it was disabled. Without it: `failed` and `missed`.
   */
  @IsOmittable()
  @IsOneOf(REDELIVERY_STATUSES)
  status?: RedeliveryStatus;

  /**
   * First day of the events (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day of the events (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;
}
