import { IsText } from '../../../platform/http/input/rules.js';

export class SignedAudioQuery {
  /**
   * Signature of the URL.
   * @example eyJhbGciOiJIUzI1NiJ9
   */
  @IsText(1, 1000)
  token: string;
}
