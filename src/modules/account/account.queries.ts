import type { DatabaseService } from '../../platform/database/database.service.js';
import type { Account } from './account.entity.js';

/** SQL, because it is prepared: it runs for every request whose account is not cached. */
export async function findAccountAccess(
  database: DatabaseService,
  accountId: string,
): Promise<Pick<Account, 'status' | 'plan' | 'rateLimit' | 'burstLimit' | 'quotas' | 'credentialVersion'> | null> {
  const [account] = await database.prepared<
    Pick<Account, 'status' | 'plan' | 'rateLimit' | 'burstLimit' | 'quotas' | 'credentialVersion'>
  >(
    `SELECT status, plan, rate_limit AS "rateLimit", burst_limit AS "burstLimit", quotas,
       credential_version AS "credentialVersion"
     FROM accounts WHERE id = $1`,
    [accountId],
  );
  return account ?? null;
}
