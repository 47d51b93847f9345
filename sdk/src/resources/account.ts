import type {
  AccountGetResponse,
  AccountQuotasResponse,
  AccountUsageData,
  AccountUsageResponse,
  AccountVocabularyResponse,
} from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';

export class AccountResource {
  constructor(private readonly transport: Transport) {}

  get(options?: RequestOptions): Promise<AccountGetResponse> {
    return this.transport.json({ method: 'GET', path: '/account', ...options });
  }

  /** Limit and use of storage, seconds a month, the queue and uploads under way. */
  quotas(options?: RequestOptions): Promise<AccountQuotasResponse> {
    return this.transport.json({ method: 'GET', path: '/account/quotas', ...options });
  }

  usage(query?: AccountUsageData['query'], options?: RequestOptions): Promise<AccountUsageResponse> {
    return this.transport.json({ method: 'GET', path: '/account/usage', query, ...options });
  }

  /** Names and words to expect in all recordings. */
  vocabulary(options?: RequestOptions): Promise<AccountVocabularyResponse> {
    return this.transport.json({ method: 'GET', path: '/account/vocabulary', ...options });
  }

  setVocabulary(vocabulary: string[], options?: RequestOptions): Promise<AccountVocabularyResponse> {
    return this.transport.json({ method: 'PUT', path: '/account/vocabulary', body: { vocabulary }, ...options });
  }
}
