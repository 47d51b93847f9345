import type { INestApplicationContext } from '@nestjs/common';
import type { Scope } from '../../access/scopes.js';
import { AccountService } from '../../modules/account/account.service.js';
import type { ApiKey } from '../../modules/api-keys/api-key.entity.js';
import { presentCreatedApiKey, presentSingleApiKey } from '../../modules/api-keys/api-key.presenter.js';
import { ApiKeysService } from '../../modules/api-keys/api-keys.service.js';
import { OPERATOR } from './operator.js';
import { recordByOperator } from './security-events.js';

interface CreateOptions {
  account: string;
  name?: string;
  scopes?: Scope[];
  expiresAt?: string;
}

const LIST_PAGE = 1000;

export async function createKey(app: INestApplicationContext, options: CreateOptions): Promise<object> {
  const account = await app.get(AccountService).get(options.account);
  const { key, secret } = await app.get(ApiKeysService).create(account.id, OPERATOR, {
    name: options.name ?? 'Created by the operator',
    scopes: options.scopes,
    expires_at: options.expiresAt,
  });
  recordByOperator(app, 'api key created', { account_id: account.id, key_id: key.id, scopes: key.scopes });
  return presentCreatedApiKey(key, secret);
}

export async function listKeys(app: INestApplicationContext, options: { account: string }): Promise<object> {
  const { id } = await app.get(AccountService).get(options.account);
  const keys: ApiKey[] = [];
  for (let page = 0, total = 1; keys.length < total; page++) {
    const found = await app.get(ApiKeysService).list(id, { page, limit: LIST_PAGE });
    keys.push(...found.items);
    total = found.items.length > 0 ? found.total : 0;
  }
  return { api_keys: keys.map(presentSingleApiKey) };
}

interface RevokeOptions {
  key: string;
  descendants?: true;
}

/** With `descendants`, also lists the ids of the keys below it that were revoked. */
export async function revokeKey(app: INestApplicationContext, options: RevokeOptions): Promise<object> {
  const keys = app.get(ApiKeysService);
  const accountId = await keys.ownerOf(options.key);
  const revoked = await keys.revoke(accountId, options.key, { descendants: options.descendants });
  for (const id of revoked) recordByOperator(app, 'api key revoked', { account_id: accountId, key_id: id });
  const shown = presentSingleApiKey(await keys.get(accountId, options.key));
  if (!options.descendants) return shown;
  return { ...shown, revoked_descendants: revoked.filter((id) => id !== options.key) };
}
