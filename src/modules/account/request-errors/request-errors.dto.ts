import { IsIntegerParameter, IsOmittable } from '../../../platform/http/input/rules.js';

export class RequestErrorsQuery {
  /** Number of days (UTC), the present one included. Errors are kept for 7, unless the operator says otherwise. */
  @IsOmittable()
  @IsIntegerParameter(1, 30)
  days: number = 7;

  @IsOmittable()
  @IsIntegerParameter(1, 200)
  limit: number = 50;
}
