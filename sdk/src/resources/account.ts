import type { AccountUpcomingData, AccountUsageData, RequestErrorsListData } from '../api/types.gen.js';
import type { RequestOptions } from '../http/client-options.js';
import type { Transport } from '../http/transport.js';
import { Paged } from '../pages/paged.js';
import type {
  Account,
  AccountErrors,
  AccountSpeakers,
  ExchangedKey,
  NewAccountSpeakers,
  NewRetention,
  Quotas,
  Retention,
  SignInCode,
  UpcomingDeletion,
  UpcomingDeletions,
  UsageItem,
  UsageReport,
  Vocabulary,
} from '../types.js';

/** The account itself: what it is, has used and may use. */
export class AccountResource {
  constructor(private readonly transport: Transport) {}

  /** Name, plan, and the use of this month and the last. */
  get(options?: RequestOptions): Promise<Account> {
    return this.transport.json({ ...options, method: 'GET', path: '/account' });
  }

  /** Limit and use of storage, seconds a month, the queue and uploads under way. */
  quotas(options?: RequestOptions): Promise<Quotas> {
    return this.transport.json({ ...options, method: 'GET', path: '/account/quotas' });
  }

  /** Use by day, by key or by end user. */
  usage(query: AccountUsageData['query'] = {}, options?: RequestOptions): Paged<UsageReport, UsageItem> {
    return new Paged({
      first: () => this.transport.json<UsageReport>({ ...options, method: 'GET', path: '/account/usage', query }),
      next: (uri) => this.transport.follow<UsageReport>(uri, options),
      itemsOf: ({ items }) => items,
    });
  }

  /** Which requests were refused in the last days, and why: grouped, the last seen first. */
  errors(query: RequestErrorsListData['query'] = {}, options?: RequestOptions): Promise<AccountErrors> {
    return this.transport.json({ ...options, method: 'GET', path: '/account/errors', query });
  }

  /** A code for one exchange within 10 minutes: a link `{baseUrl}/#code={code}` opens the console signed in. */
  createSignInCode(options?: RequestOptions): Promise<SignInCode> {
    // A second code does no harm.
    const mayRepeat = true;
    return this.transport.json({ ...options, method: 'POST', path: '/account/sign-in-codes', mayRepeat });
  }

  /** The API key and the secret that a code stands for. It needs no credentials, and ends the code. */
  exchangeSignInCode(code: string, options?: RequestOptions): Promise<ExchangedKey> {
    return this.transport.json({
      ...options,
      method: 'POST',
      path: '/account/sign-in-codes/exchange',
      body: { code },
    });
  }

  /** Names and words to expect in all recordings. */
  vocabulary(options?: RequestOptions): Promise<Vocabulary> {
    return this.transport.json({ ...options, method: 'GET', path: '/account/vocabulary' });
  }

  /** @param vocabulary the most important first; an empty list removes all */
  setVocabulary(vocabulary: string[], options?: RequestOptions): Promise<Vocabulary> {
    return this.transport.json({ ...options, method: 'PUT', path: '/account/vocabulary', body: { vocabulary } });
  }

  /** How many speakers are told apart in new recordings. Null is none. */
  speakers(options?: RequestOptions): Promise<AccountSpeakers> {
    return this.transport.json({ ...options, method: 'GET', path: '/account/speakers' });
  }

  /** For recordings that are uploaded from now on. */
  setSpeakers(speakers: NewAccountSpeakers['speakers'], options?: RequestOptions): Promise<AccountSpeakers> {
    return this.transport.json({ ...options, method: 'PUT', path: '/account/speakers', body: { speakers } });
  }

  /** How long new recordings are kept. Null is for ever. */
  retention(options?: RequestOptions): Promise<Retention> {
    return this.transport.json({ ...options, method: 'GET', path: '/account/retention' });
  }

  /** For recordings that are uploaded from now on. */
  setRetention(retention: NewRetention, options?: RequestOptions): Promise<Retention> {
    return this.transport.json({ ...options, method: 'PUT', path: '/account/retention', body: retention });
  }

  /** What is deleted next by its retention, in the order of the times. */
  upcomingDeletions(
    query: AccountUpcomingData['query'] = {},
    options?: RequestOptions,
  ): Paged<UpcomingDeletions, UpcomingDeletion> {
    const path = '/account/retention/upcoming';
    return new Paged({
      first: () => this.transport.json<UpcomingDeletions>({ ...options, method: 'GET', path, query }),
      next: (uri) => this.transport.follow<UpcomingDeletions>(uri, options),
      itemsOf: ({ items }) => items,
    });
  }
}
