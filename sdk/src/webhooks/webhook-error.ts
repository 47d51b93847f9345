import { VoiceNotesError } from '../http/errors.js';

/** Why a delivery was not accepted. */
export type WebhookRefusal =
  | 'missing_header'
  | 'invalid_header'
  | 'too_old'
  | 'too_new'
  | 'wrong_signature'
  | 'invalid_body';

/** What came is no delivery of the service, or a replay of an old one. Answer it with 400. */
export class WebhookVerificationError extends VoiceNotesError {
  override readonly name = 'WebhookVerificationError';

  constructor(
    /** For programs; the message says it in words. */
    readonly reason: WebhookRefusal,
    message: string,
  ) {
    super(message);
  }
}
