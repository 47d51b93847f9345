import type { INestApplicationContext } from '@nestjs/common';
import type { Account } from '../modules/account/account.entity.js';
import { presentAccount } from '../modules/account/account.presenter.js';
import { AccountService } from '../modules/account/account.service.js';
import { ACCOUNT_STATUSES, limitOf, PLANS } from '../modules/account/plans.js';
import { presentCreatedApiKey, presentSingleApiKey } from '../modules/api-keys/api-key.presenter.js';
import { ApiKeysService } from '../modules/api-keys/api-keys.service.js';
import { SCOPES } from '../access/scopes.js';
import type { Options } from './options.js';
import { rotateSecrets } from './rotate-secrets.js';

interface Command {
  usage: string;
  /** Names of its options, apart from `--json`. */
  options: readonly string[];
  /** Does it and returns what there is to say, as one JSON value. */
  run: (app: INestApplicationContext, options: Options) => Promise<object>;
}

/** What an operator does from the command line, since the public API has no operation for it (D30). */
export const COMMANDS: Record<string, Command> = {
  'account:create': {
    usage: '--name NAME --email EMAIL [--plan free|pro|enterprise] [--rate-limit N --burst-limit N]',
    options: ['name', 'email', 'plan', 'rate-limit', 'burst-limit'],
    run: createAccount,
  },
  'account:update': {
    usage:
      '--account ID [--name NAME] [--email EMAIL] [--plan free|pro|enterprise] [--status active|suspended] [--rate-limit N] [--burst-limit N]',
    options: ['account', 'name', 'email', 'plan', 'status', 'rate-limit', 'burst-limit'],
    run: updateAccount,
  },
  'account:list': { usage: '', options: [], run: listAccounts },
  'key:create': {
    usage: '--account ID [--name NAME] [--scopes a,b] [--expires-at TIME]',
    options: ['account', 'name', 'scopes', 'expires-at'],
    run: createKey,
  },
  'key:revoke': { usage: '--key ID', options: ['key'], run: revokeKey },
  'secrets:rotate': { usage: '', options: [], run: rotateSecrets },
};

async function createAccount(app: INestApplicationContext, options: Options): Promise<object> {
  const account = await app.get(AccountService).create({
    name: options.requiredText('name', 200),
    email: options.requiredEmail('email'),
    plan: options.choice('plan', PLANS) ?? 'free',
    rateLimit: options.count('rate-limit') ?? null,
    burstLimit: options.count('burst-limit') ?? null,
  });
  const { key, secret } = await app.get(ApiKeysService).create(account.id, SCOPES, { name: 'First key' });
  return { account: await showAccount(app, account), api_key: key.key, api_secret: secret };
}

async function updateAccount(app: INestApplicationContext, options: Options): Promise<object> {
  const account = await app.get(AccountService).update(options.requiredText('account', 64), {
    name: options.optionalText('name', 200),
    email: options.optionalEmail('email'),
    plan: options.choice('plan', PLANS),
    status: options.choice('status', ACCOUNT_STATUSES),
    rateLimit: options.count('rate-limit'),
    burstLimit: options.count('burst-limit'),
  });
  return { account: await showAccount(app, account) };
}

async function listAccounts(app: INestApplicationContext): Promise<object> {
  const accounts = await app.get(AccountService).list();
  return { accounts: await Promise.all(accounts.map((account) => showAccount(app, account))) };
}

async function createKey(app: INestApplicationContext, options: Options): Promise<object> {
  const account = await app.get(AccountService).get(options.requiredText('account', 64));
  const { key, secret } = await app.get(ApiKeysService).create(account.id, SCOPES, {
    name: options.optionalText('name', 100) ?? 'Made by the operator',
    scopes: options.choices('scopes', SCOPES),
    expires_at: options.futureInstant('expires-at'),
  });
  return presentCreatedApiKey(key, secret);
}

async function revokeKey(app: INestApplicationContext, options: Options): Promise<object> {
  const keys = app.get(ApiKeysService);
  const id = options.requiredText('key', 64);
  const accountId = await keys.ownerOf(id);
  await keys.revoke(accountId, id);
  return presentSingleApiKey(await keys.get(accountId, id));
}

/** As clients see it, and with the limits in force. */
async function showAccount(app: INestApplicationContext, account: Account): Promise<object> {
  const { rate, burst } = limitOf(account.plan, account);
  const usage = await app.get(AccountService).usage(account.id);
  return { ...presentAccount(account, usage), rate_limit: rate, burst_limit: burst };
}
