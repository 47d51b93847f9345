import type {
  ApiKeysCreateData,
  ApiKeysCreateResponse,
  ApiKeysGetResponse,
  ApiKeysListData,
  ApiKeysListResponse,
} from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';
import { Paged } from '../pages/paged.js';

export type ApiKey = ApiKeysListResponse['api_keys'][number];

export class KeysResource {
  constructor(private readonly transport: Transport) {}

  list(query: ApiKeysListData['query'] = {}, options?: RequestOptions): Paged<ApiKeysListResponse, ApiKey> {
    return new Paged(
      (page = query?.page) =>
        this.transport.json({ method: 'GET', path: '/account/api-keys', query: { ...query, page }, ...options }),
      (page) => page.api_keys,
    );
  }

  get(id: string, options?: RequestOptions): Promise<ApiKeysGetResponse> {
    return this.transport.json({ method: 'GET', path: `/account/api-keys/${encodeURIComponent(id)}`, ...options });
  }

  /** The answer has the secret, which is shown this once. It is not repeated after a fault: a second key could be made. */
  create(fields: ApiKeysCreateData['body'], options?: RequestOptions): Promise<ApiKeysCreateResponse> {
    return this.transport.json({ method: 'POST', path: '/account/api-keys', body: fields, ...options });
  }

  /** @param descendants also revokes the keys that this one made */
  async revoke(
    id: string,
    { descendants, ...options }: RequestOptions & { descendants?: boolean } = {},
  ): Promise<void> {
    const path = `/account/api-keys/${encodeURIComponent(id)}`;
    await this.transport.json({ method: 'DELETE', path, query: { descendants }, ...options });
  }
}
