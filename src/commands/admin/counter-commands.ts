import type { INestApplicationContext } from '@nestjs/common';
import { AccountService } from '../../modules/account/account.service.js';
import {
  type BreakdownDifference,
  type CounterDifference,
  CounterAuditService,
} from '../../modules/recordings/usage-counters/counter-audit.service.js';

interface CounterOptions {
  account?: string;
}

/** Compares the counters of all accounts, or of one. Exit code 1 when anything differs. */
export async function verifyCounters(app: INestApplicationContext, { account }: CounterOptions): Promise<object> {
  const audit = app.get(CounterAuditService);
  const differences: object[] = [];
  let accounts = 0;
  for await (const id of accountIds(app, account)) {
    differences.push(...(await audit.differences(id)).map(presentDifference));
    differences.push(...(await audit.breakdownDifferences(id)).map((found) => presentBreakdown(id, found)));
    accounts++;
  }
  if (differences.length > 0) process.exitCode = 1;
  return { accounts_verified: accounts, differences };
}

export async function rebuildCounters(app: INestApplicationContext, { account }: CounterOptions): Promise<object> {
  const audit = app.get(CounterAuditService);
  const corrected: { account_id: string; days_corrected: number }[] = [];
  let accounts = 0;
  for await (const id of accountIds(app, account)) {
    const days = await audit.rebuild(id);
    if (days > 0) corrected.push({ account_id: id, days_corrected: days });
    accounts++;
  }
  return { accounts_rebuilt: accounts, corrected };
}

async function* accountIds(app: INestApplicationContext, only: string | undefined): AsyncGenerator<string> {
  const accounts = app.get(AccountService);
  if (only !== undefined) yield (await accounts.get(only)).id;
  else for await (const page of accounts.pages()) yield* page.map(({ id }) => id);
}

const presentDifference = ({ accountId, ...difference }: CounterDifference): object => ({
  account_id: accountId,
  ...difference,
});

/** Identities of end users are not shown: they may be personal data. */
const presentBreakdown = (accountId: string, { dimension, value, ...difference }: BreakdownDifference): object => ({
  account_id: accountId,
  by: dimension,
  ...(dimension === 'key' ? { key_id: value || null } : {}),
  ...difference,
});
