import type { ClientOptions } from './http/client-options.js';
import { Transport } from './http/transport.js';
import { AccessTokensResource } from './resources/access-tokens.js';
import { AccountResource } from './resources/account.js';
import { EventsResource } from './resources/events.js';
import { KeysResource } from './resources/keys.js';
import { RecordingsResource } from './resources/recordings.js';
import { UsersResource } from './resources/users.js';
import { WebhooksResource } from './resources/webhooks.js';

/** The service of one account. Each group of operations is a property. */
export class VoiceNotes {
  readonly account: AccountResource;
  readonly keys: KeysResource;
  readonly accessTokens: AccessTokensResource;
  readonly recordings: RecordingsResource;
  readonly webhooks: WebhooksResource;
  readonly events: EventsResource;
  readonly users: UsersResource;

  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    this.account = new AccountResource(transport);
    this.keys = new KeysResource(transport);
    this.accessTokens = new AccessTokensResource(transport);
    this.recordings = new RecordingsResource(transport);
    this.webhooks = new WebhooksResource(transport);
    this.events = new EventsResource(transport);
    this.users = new UsersResource(transport);
  }
}
