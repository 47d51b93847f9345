import type { RequestOptions } from '../http/client-options.js';
import type { Transport } from '../http/transport.js';
import type { AccessToken, NewAccessToken } from '../types.js';

/** Tokens for end users, who upload with them and can do nothing else. */
export class AccessTokensResource {
  constructor(private readonly transport: Transport) {}

  /** A token with which the app of one end user may upload. */
  create(fields: NewAccessToken, options?: RequestOptions): Promise<AccessToken> {
    // A second token does no harm.
    const mayRepeat = true;
    return this.transport.json({ ...options, method: 'POST', path: '/account/access-tokens', body: fields, mayRepeat });
  }

  /** Voids the tokens of one end user, or all. */
  async void({ identity, ...options }: RequestOptions & { identity?: string } = {}): Promise<void> {
    await this.transport.json({ ...options, method: 'DELETE', path: '/account/access-tokens', query: { identity } });
  }
}
