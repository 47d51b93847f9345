import { RateLimitError } from '../../../platform/errors/errors.js';
import { ConcurrencyLimit } from '../../../platform/concurrency/concurrency-limit.js';

/** Searches at a time in one process. Its other connections to Postgres serve everything else. */
const MAX_RUNNING = 6;
const MAX_RUNNING_OF_ACCOUNT = 2;
const MAX_WAITING_OF_ACCOUNT = 20;

interface AccountSlots {
  limit: ConcurrencyLimit;
  /** Searches that run or wait. */
  searches: number;
}

/** Bounds the searches that run at a time, so that no account takes all connections to Postgres. */
export class SearchSlots {
  private readonly all = new ConcurrencyLimit(MAX_RUNNING);
  private readonly accounts = new Map<string, AccountSlots>();

  /** @throws RateLimitError when too many searches of the account wait. */
  async run<T>(accountId: string, search: () => Promise<T>): Promise<T> {
    const account = this.accounts.get(accountId) ?? {
      limit: new ConcurrencyLimit(MAX_RUNNING_OF_ACCOUNT),
      searches: 0,
    };
    if (account.searches >= MAX_RUNNING_OF_ACCOUNT + MAX_WAITING_OF_ACCOUNT) throw new RateLimitError(1);
    this.accounts.set(accountId, account);
    account.searches += 1;
    try {
      return await account.limit.run(() => this.all.run(search));
    } finally {
      account.searches -= 1;
      if (account.searches === 0) this.accounts.delete(accountId);
    }
  }
}
