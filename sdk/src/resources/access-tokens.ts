import type { AccessTokensCreateData, AccessTokensCreateResponse } from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';

export class AccessTokensResource {
  constructor(private readonly transport: Transport) {}

  /** A token with which the app of one end user may upload. */
  create(fields: AccessTokensCreateData['body'], options?: RequestOptions): Promise<AccessTokensCreateResponse> {
    return this.transport.json({ method: 'POST', path: '/account/access-tokens', body: fields, ...options });
  }

  /** Voids the tokens of one end user, or all. */
  async void({ identity, ...options }: RequestOptions & { identity?: string } = {}): Promise<void> {
    await this.transport.json({ method: 'DELETE', path: '/account/access-tokens', query: { identity }, ...options });
  }
}
