import type { INestApplicationContext } from '@nestjs/common';
import { type AccountStatus, limitOf, type Plan, planOf, quotasOf } from '../../access/plans.js';
import { QUOTA_NAMES, type Quotas } from '../../access/plans.js';
import { type Scope, SCOPES } from '../../access/scopes.js';
import { addedBy, type Extension } from '../../extension.js';
import type { Account } from '../../modules/account/account.entity.js';
import { presentAccount } from '../../modules/account/account.presenter.js';
import { AccountService } from '../../modules/account/account.service.js';
import { API_KEY_MODES, type ApiKey, type ApiKeyMode, warningsOf } from '../../modules/api-keys/api-key.entity.js';
import { presentCreatedApiKey, presentSingleApiKey } from '../../modules/api-keys/api-key.presenter.js';
import { ApiKeysService, type KeyCreator } from '../../modules/api-keys/api-keys.service.js';
import type { UsagePeriod } from '../../modules/recordings/usage-counters/usage.service.js';
import { type EngineChoice, engineChoicesJson } from '../../modules/transcriptions/engines/engine-choice.js';
import { recordByOperator } from './admin-context.js';

/** Keys that the operator creates have no key as their creator, and may have any scope. */
const OPERATOR: KeyCreator = { keyId: null, scopes: SCOPES };
/** Keys that a list of all of them reads at a time. */
const LIST_PAGE = 1000;

interface LimitOptions {
  plan?: Plan;
  rateLimit?: number;
  burstLimit?: number;
}

interface CreateOptions extends LimitOptions {
  name: string;
  email: string;
  allowDuplicateEmail?: true;
}

type QuotaOption = number | 'unlimited' | 'plan';

interface UpdateOptions extends LimitOptions, Partial<Record<keyof Quotas, QuotaOption>> {
  account: string;
  name?: string;
  email?: string;
  status?: AccountStatus;
  engines?: EngineChoice[] | 'default';
  retainAudioDays?: number | 'unlimited';
  retainTextDays?: number | 'unlimited';
  deleteAudioAfter?: 'transcribed' | 'never';
}

export async function createAccount(app: INestApplicationContext, options: CreateOptions): Promise<object> {
  const accounts = app.get(AccountService);
  const { name, email, plan = 'free', rateLimit = null, burstLimit = null, allowDuplicateEmail } = options;
  refuseUnusedLimits(plan, options);
  const account = await accounts.create({ name, email, plan, rateLimit, burstLimit }, { allowDuplicateEmail });
  const { key, secret } = await app.get(ApiKeysService).create(account.id, OPERATOR, { name: 'First key' });
  recordByOperator(app, 'account created', { account_id: account.id });
  recordByOperator(app, 'api key created', { account_id: account.id, key_id: key.id, scopes: key.scopes });
  return { account: await showAccount(app, account), key_id: key.id, api_key: key.key, api_secret: secret };
}

/** @param extensions whose engines an account may have, too. */
export function updateAccount(extensions: readonly Extension[]) {
  return async (app: INestApplicationContext, options: UpdateOptions): Promise<object> => {
    const accounts = app.get(AccountService);
    const { account: id, name, email, plan, status, rateLimit, burstLimit } = options;
    refuseUnusedLimits(plan ?? (await accounts.get(id)).plan, options);
    const engines = await enginesOf(options, extensions);
    const changes = { name, email, plan, status, rateLimit, burstLimit, engines };
    const quotas = quotaChanges(options);
    const retention = retentionChanges(options);
    const account = await accounts.update(id, { ...changes, ...retention, quotas });
    const changed = Object.entries({ ...changes, ...retention, ...quotas }).filter(([, value]) => value !== undefined);
    recordByOperator(app, 'account changed', { account_id: id, fields: changed.map(([field]) => field) });
    return { account: await showAccount(app, account) };
  };
}

/** As they are stored; null for those of the service, undefined for no change. */
async function enginesOf(
  { engines }: UpdateOptions,
  extensions: readonly Extension[],
): Promise<object[] | null | undefined> {
  if (engines === undefined) return undefined;
  if (engines === 'default') return null;
  // With the clients of the engines, which other commands need not wait for.
  const { registeredEngines } = await import('../../modules/transcriptions/engines/engine-registry.js');
  const known = registeredEngines(addedBy(extensions, 'engines')).map(({ name }) => name);
  const unknown = engines.find(({ name }) => !known.includes(name));
  if (unknown) throw new Error(`--engines: ${unknown.name} is not an engine. Use one or more of ${known.join(', ')}.`);
  return engineChoicesJson(engines);
}

/** Its recordings and deliveries wait, or go on with `finishQueue` (D4). */
export async function suspendAccount(
  app: INestApplicationContext,
  { account: id, finishQueue = false }: { account: string; finishQueue?: boolean },
): Promise<object> {
  const account = await app.get(AccountService).update(id, { status: 'suspended', finishQueue });
  recordByOperator(app, 'account changed', { account_id: id, fields: ['status'] });
  return { account: await showAccount(app, account) };
}

export async function listAccounts(app: INestApplicationContext): Promise<object> {
  const service = app.get(AccountService);
  const shown: object[] = [];
  for await (const accounts of service.pages()) {
    const usages = await service.usagesOf(accounts.map(({ id }) => id));
    shown.push(...usages.map((usage, i) => presentForOperator(accounts[i] as Account, usage)));
  }
  return { accounts: shown };
}

/** Undefined goes back to the quota of the plan, null is unlimited; what is not given is left out. */
function quotaChanges(options: UpdateOptions): Partial<Record<keyof Quotas, number | null | undefined>> {
  const names = Object.keys(QUOTA_NAMES) as (keyof Quotas)[];
  const given = names.filter((name) => options[name] !== undefined);
  const valueOf = (option: QuotaOption | undefined) =>
    option === 'unlimited' ? null : option === 'plan' ? undefined : option;
  return Object.fromEntries(given.map((name) => [name, valueOf(options[name])]));
}

/** Undefined is no change, and null for ever (D78). */
function retentionChanges({ retainAudioDays, retainTextDays, deleteAudioAfter }: UpdateOptions) {
  const daysOf = (option: number | 'unlimited' | undefined) => (option === 'unlimited' ? null : option);
  return {
    retainAudioDays: daysOf(retainAudioDays),
    retainTextDays: daysOf(retainTextDays),
    deleteAudioAfter: deleteAudioAfter === 'never' ? null : deleteAudioAfter,
  };
}

/** The limits of the other plans are fixed (D5). */
function refuseUnusedLimits(plan: Plan, { rateLimit, burstLimit }: LimitOptions): void {
  if (planOf(plan).ownLimits || (rateLimit === undefined && burstLimit === undefined)) return;
  throw new Error(
    `The plan ${plan} has fixed limits. --rate-limit and --burst-limit need another plan, such as enterprise.`,
  );
}

async function showAccount(app: INestApplicationContext, account: Account): Promise<object> {
  return presentForOperator(account, await app.get(AccountService).usage(account.id));
}

/** As clients see it, with the limits and quotas in force, and with its own engines if it has any. */
function presentForOperator(account: Account, usage: [UsagePeriod, UsagePeriod]): object {
  const { rate, burst } = limitOf(account.plan, account);
  return {
    ...presentAccount(account, usage),
    rate_limit: rate,
    burst_limit: burst,
    quotas: showQuotas(account),
    ...showRetention(account),
    ...(account.engines && { engines: account.engines }),
  };
}

/** Only where something is deleted by itself. */
function showRetention({ retainAudioDays, retainTextDays, deleteAudioAfter }: Account): object {
  const isLimited = retainAudioDays !== null || retainTextDays !== null || deleteAudioAfter !== null;
  const retention = {
    retain_audio_days: retainAudioDays,
    retain_text_days: retainTextDays,
    delete_audio_after: deleteAudioAfter,
  };
  return isLimited ? { retention } : {};
}

function showQuotas({ plan, quotas }: Account): object {
  const inForce = quotasOf(plan, quotas);
  const names = Object.entries(QUOTA_NAMES) as [keyof Quotas, string][];
  return Object.fromEntries(names.map(([property, name]) => [name, inForce[property]]));
}

interface NewKeyOptions {
  account: string;
  mode?: ApiKeyMode;
  name?: string;
  scopes?: Scope[];
  expiresAt?: string;
  allow?: string[];
}

export async function createKey(app: INestApplicationContext, options: NewKeyOptions): Promise<object> {
  const account = await app.get(AccountService).get(options.account);
  const { key, secret } = await app.get(ApiKeysService).create(account.id, OPERATOR, {
    name: options.name ?? 'Created by the operator',
    scopes: options.scopes,
    expires_at: options.expiresAt,
    allowed_addresses: options.allow,
    mode: options.mode,
  });
  recordByOperator(app, 'api key created', { account_id: account.id, key_id: key.id, scopes: key.scopes });
  return presentCreatedApiKey(key, secret);
}

export async function listKeys(app: INestApplicationContext, options: { account: string }): Promise<object> {
  const { id } = await app.get(AccountService).get(options.account);
  const keys: ApiKey[] = [];
  for (const mode of API_KEY_MODES) keys.push(...(await keysOf(app, id, mode)));
  const present = (key: ApiKey) =>
    presentSingleApiKey(key, warningsOf(key).length > 0 ? { include: 'warnings' } : undefined);
  return { api_keys: keys.map((key) => present(key)) };
}

async function keysOf(app: INestApplicationContext, accountId: string, mode: ApiKeyMode): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  for (let page = 0, total = 1; keys.length < total; page++) {
    const found = await app.get(ApiKeysService).list(accountId, { page, limit: LIST_PAGE, mode });
    keys.push(...found.items);
    total = found.items.length > 0 ? found.total : 0;
  }
  return keys;
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
