import { setTimeout } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { AccountService } from '../../modules/account/account.service.js';
import type { ApiKey } from '../../modules/api-keys/api-key.entity.js';
import { ApiKeysService } from '../../modules/api-keys/api-keys.service.js';
import {
  type BreakdownDifference,
  CounterAuditService,
  type CounterDifference,
} from '../../modules/recordings/usage-counters/counter-audit.service.js';
import {
  type RetranscriptionProgress,
  RetranscriptionsService,
} from '../../modules/transcriptions/retranscriptions.service.js';
import { WebhookSecretsService } from '../../modules/webhooks/webhook-secrets.service.js';
import { Env } from '../../platform/config/env.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { SecretsService } from '../../platform/secrets.service.js';
import { StorageKeysService } from '../../platform/storage/encryption/storage-keys.service.js';
import { recordByOperator } from './admin-context.js';

/** Between two lines of progress. */
const WATCH_MS = 5000;

interface CounterOptions {
  account?: string;
}

/** Compares the counters of all accounts, or of one. Exit code 1 when anything differs. */
export async function verifyCounters(app: INestApplicationContext, { account }: CounterOptions): Promise<object> {
  const audit = app.get(CounterAuditService);
  const differences: object[] = [];
  let accounts = 0;
  for await (const id of accountIds(app, account)) {
    // One by one: there may be more of them than a call takes arguments.
    for (const found of await audit.differences(id)) differences.push(presentDifference(found));
    for (const found of await audit.breakdownDifferences(id)) differences.push(presentBreakdown(id, found));
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

/** What is not encrypted or hashed with SECRET_KEY yet. */
export interface Leftovers {
  hasPrevious: boolean;
  hasPreviousStorageKey: boolean;
  waitingKeys: number;
  unreadableKeys: number;
  waitingWebhooks: number;
  unreadableWebhooks: number;
  waitingAudioKeys: number;
  unreadableAudioKeys: number;
}

/**
 * Encrypts webhook secrets with the current SECRET_KEY and wraps the keys of audio by the current key, and says what still
 * needs the one before.
 */
export async function rotateSecrets(app: INestApplicationContext): Promise<object> {
  const { reencrypted, left, unreadable: webhooks } = await app.get(WebhookSecretsService).reencrypt();
  recordByOperator(app, 'webhook secrets encrypted anew', {});
  const audio = await app.get(StorageKeysService).rewrap();
  if (audio.rewrapped > 0) recordByOperator(app, 'keys of audio wrapped anew', {});
  const { waiting, unreadable: keys } = await app.get(ApiKeysService).underOtherKeys();
  return {
    webhook_secrets: { reencrypted, left, unreadable: webhooks.length },
    api_keys: { waiting_for_use: waiting.length, unreadable: keys.length },
    audio_keys: { rewrapped: audio.rewrapped, left: audio.left, unreadable: audio.unreadable.length },
    keys_waiting_for_use: waiting.map(showKey),
    unreadable_keys: keys.map(showKey),
    unreadable_webhooks: webhooks,
    unreadable_audio_keys: audio.unreadable,
    advice: advice({
      hasPrevious: app.get(SecretsService).hasPrevious,
      hasPreviousStorageKey: app.get(Env).storageKeyPrevious !== null,
      waitingKeys: waiting.length,
      unreadableKeys: keys.length,
      waitingWebhooks: left,
      unreadableWebhooks: webhooks.length,
      waitingAudioKeys: audio.left,
      unreadableAudioKeys: audio.unreadable.length,
    }),
  };
}

/** One sentence for each fact or task. */
export function advice(count: Leftovers): string {
  const sentences = adviceOnPrevious(count);
  if (count.waitingKeys > 0) {
    sentences.push(
      `${plural(count.waitingKeys, 'API key')} still ${count.waitingKeys === 1 ? 'needs' : 'need'} SECRET_KEY_PREVIOUS: use or revoke each.`,
    );
  }
  if (count.waitingWebhooks > 0) {
    const secrets = plural(count.waitingWebhooks, 'webhook secret');
    sentences.push(`${secrets} set during this run by a process with another SECRET_KEY: run this command again.`);
  }
  if (count.waitingAudioKeys > 0) {
    const keys = plural(count.waitingAudioKeys, 'key of audio', 'keys of audio');
    sentences.push(`${keys} made during this run by a process with another key: run this command again.`);
  }
  if (count.unreadableAudioKeys > 0) {
    const keys = plural(count.unreadableAudioKeys, 'key of audio', 'keys of audio');
    sentences.push(
      `Nothing here can read ${keys}, and the audio under ${count.unreadableAudioKeys === 1 ? 'it' : 'them'}: set ` +
        'SECRET_KEY_PREVIOUS or STORAGE_KEY_PREVIOUS to the key of that time, and run this command again.',
    );
  }
  if (count.unreadableKeys + count.unreadableWebhooks > 0) {
    const [keys, webhooks] = [
      plural(count.unreadableKeys, 'API key'),
      plural(count.unreadableWebhooks, 'webhook secret'),
    ];
    sentences.push(
      `Neither key can read ${keys} and ${webhooks}: set SECRET_KEY_PREVIOUS to the key they were created with, ` +
        'or replace them.',
    );
  }
  return sentences.join(' ');
}

function adviceOnPrevious({ hasPrevious, hasPreviousStorageKey, ...count }: Leftovers): string[] {
  const sentences: string[] = [];
  if (hasPrevious) {
    sentences.push(
      count.waitingKeys + count.waitingWebhooks + count.waitingAudioKeys > 0
        ? 'Keep SECRET_KEY_PREVIOUS for now.'
        : 'SECRET_KEY_PREVIOUS can be removed one day after the last process was restarted with the new SECRET_KEY: ' +
            'until then an access token signed with the previous key may still be valid.',
    );
  }
  if (hasPreviousStorageKey) {
    sentences.push(
      count.waitingAudioKeys + count.unreadableAudioKeys > 0
        ? 'Keep STORAGE_KEY_PREVIOUS for now.'
        : 'STORAGE_KEY_PREVIOUS can be removed once all processes have the new STORAGE_KEY.',
    );
  }
  return sentences.length > 0 ? sentences : ['SECRET_KEY_PREVIOUS is not set.'];
}

const plural = (number: number, noun: string, nouns = `${noun}s`): string => `${number} ${number === 1 ? noun : nouns}`;

function showKey({ id, accountId, name, lastUsedAt }: ApiKey): object {
  return { id, account_id: accountId, name, last_used_at: lastUsedAt && resourceTime(lastUsedAt) };
}

interface RetranscribeOptions {
  account?: string;
  all?: true;
  modelNot?: string;
  since?: string;
  rate?: number;
  quiet?: true;
  detach?: true;
  status?: true;
  cancel?: true;
}

/** Begins, shows or ends what the workers do (D49). The command only watches: without it they go on. */
export async function retranscribe(app: INestApplicationContext, options: RetranscribeOptions): Promise<object> {
  const service = app.get(RetranscriptionsService);
  const accountId = await accountOf(app, options);
  if (options.status) return presentProgress(await service.progress(accountId));
  if (options.cancel) return { canceled_accounts: await service.cancel(accountId) };
  const { modelNot, since, rate = null, quiet = false, detach } = options;
  if (modelNot === undefined) throw new Error('Add --model-not with the name of the present model.');
  if (since === undefined) throw new Error('Add --since with the day of the oldest recording, such as 2026-01-31.');
  const begun = await service.begin({ accountId, modelNot, since, rate, quiet });
  if (begun.length === 0) {
    throw new Error('No such recordings, or an earlier command is in progress for them. See retranscribe --status.');
  }
  const accounts = new Set(begun.map((account) => account.accountId));
  return presentProgress(
    detach ? await progressOf(service, accountId, accounts) : await watch(service, accountId, accounts),
  );
}

async function accountOf(app: INestApplicationContext, options: RetranscribeOptions): Promise<string | null> {
  const { account, all, status } = options;
  if (account !== undefined && all) throw new Error('Give either --account or --all.');
  if (account === undefined && !all && !status) throw new Error('Add --account with an id, or --all.');
  return account === undefined ? null : (await app.get(AccountService).get(account)).id;
}

/** Prints a line whenever something has changed, on standard error, until all have ended. */
async function watch(
  service: RetranscriptionsService,
  accountId: string | null,
  accounts: ReadonlySet<string>,
): Promise<RetranscriptionProgress[]> {
  process.stderr.write('The workers transcribe these recordings when they have nothing else to do. Ctrl-C ends this\n');
  process.stderr.write('command and not their work: see retranscribe --status, and --cancel to end it.\n');
  for (let last = ''; ; await setTimeout(WATCH_MS)) {
    const jobs = await progressOf(service, accountId, accounts);
    const line = lineOf(jobs);
    if (line !== last) process.stderr.write(`${line}\n`);
    last = line;
    if (jobs.every(({ endedAt }) => endedAt !== null)) return jobs;
  }
}

async function progressOf(
  service: RetranscriptionsService,
  accountId: string | null,
  accounts: ReadonlySet<string>,
): Promise<RetranscriptionProgress[]> {
  return (await service.progress(accountId)).filter((job) => accounts.has(job.accountId));
}

function lineOf(jobs: readonly RetranscriptionProgress[]): string {
  const sum = (figure: 'done' | 'total' | 'failed' | 'pending'): number =>
    jobs.reduce((total, job) => total + job[figure], 0);
  const ended = jobs.filter(({ endedAt }) => endedAt !== null).length;
  return `${sum('done')} of ${sum('total')} recordings, ${sum('failed')} failed, ${sum('pending')} in the queue; ${ended} of ${jobs.length} accounts done`;
}

function presentProgress(jobs: readonly RetranscriptionProgress[]): object {
  return {
    retranscriptions: jobs.map((job) => ({
      account_id: job.accountId,
      status: job.endedAt === null ? 'running' : job.isCanceled ? 'canceled' : 'ended',
      model_not: job.modelNot,
      rate: job.rate,
      quiet: job.quiet,
      total: job.total,
      done: job.done,
      failed: job.failed,
      pending: job.pending,
      started_at: resourceTime(job.startedAt),
      ended_at: job.endedAt && resourceTime(job.endedAt),
    })),
  };
}
