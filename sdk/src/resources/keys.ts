import type { ApiKeysListData } from '../api/types.gen.js';
import type { RequestOptions } from '../http/client-options.js';
import type { Transport } from '../http/transport.js';
import { type Paged, pagesOf } from '../pages/paged.js';
import type { ApiKey, ApiKeyDetails, ApiKeyPage, CreatedApiKey, NewApiKey } from '../types.js';

/** The API keys of the account. */
export class KeysResource {
  constructor(private readonly transport: Transport) {}

  /** Keys that work, unless a `status` asks for others. */
  list(query: ApiKeysListData['query'] = {}, options?: RequestOptions): Paged<ApiKeyPage, ApiKey> {
    return pagesOf(
      () => this.transport.json<ApiKeyPage>({ ...options, method: 'GET', path: '/account/api-keys', query }),
      (uri) => this.transport.follow<ApiKeyPage>(uri, options),
      (page) => page.api_keys,
    );
  }

  /** One key, with its description and the key that made it. */
  get(id: string, options?: RequestOptions): Promise<ApiKeyDetails> {
    return this.transport.json({ ...options, method: 'GET', path: pathOf(id) });
  }

  /** The answer has the secret, which is shown this once. Not repeated after a fault: a second key could be made. */
  create(fields: NewApiKey, options?: RequestOptions): Promise<CreatedApiKey> {
    return this.transport.json({ ...options, method: 'POST', path: '/account/api-keys', body: fields });
  }

  /** @param options `descendants` also revokes the keys that this one made */
  async revoke(
    id: string,
    { descendants, ...options }: RequestOptions & { descendants?: boolean } = {},
  ): Promise<void> {
    await this.transport.json({ ...options, method: 'DELETE', path: pathOf(id), query: { descendants } });
  }
}

function pathOf(id: string): string {
  return `/account/api-keys/${encodeURIComponent(id)}`;
}
