import { IsText } from '../../platform/http/input/rules.js';

export class ExchangeSignInCodeDto {
  /**
   * The code of `POST /v1/account/sign-in-codes`.
   * @example vnc_Zk3wq1xR8nT5vB2mC7dF0gH4jK6lP9sQaEuYiOoXzNc
   */
  @IsText(1, 100)
  code: string;
}
