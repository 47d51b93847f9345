import type { INestApplicationContext } from '@nestjs/common';
import { AccountService } from '../../modules/account/account.service.js';
import { selectAccountsWithLog } from '../../modules/audit/audit-log.queries.js';
import { AuditLogService } from '../../modules/audit/audit-log.service.js';
import { DatabaseService } from '../../platform/database/database.service.js';

/** Follows the chain of entries of all accounts, or of one. Exit code 1 when one is broken. */
export async function verifyAudit(app: INestApplicationContext, { account }: { account?: string }): Promise<object> {
  const log = app.get(AuditLogService);
  const broken: object[] = [];
  const heads: object[] = [];
  let entries = 0;
  for await (const accountId of auditedAccounts(app, account)) {
    const verified = await log.verify(accountId);
    entries += verified.entries;
    if (verified.broken) broken.push({ account_id: accountId, ...verified.broken });
    const { end, unsealed } = verified;
    heads.push({ account_id: accountId, last_number: end.number, last_hash: end.hash, unsealed });
  }
  if (broken.length > 0) process.exitCode = 1;
  return { accounts_verified: heads.length, entries_verified: entries, broken, heads };
}

/** With their test accounts. */
async function* auditedAccounts(app: INestApplicationContext, only: string | undefined): AsyncGenerator<string> {
  if (only !== undefined) yield (await app.get(AccountService).get(only)).id;
  else yield* await selectAccountsWithLog(app.get(DatabaseService));
}
