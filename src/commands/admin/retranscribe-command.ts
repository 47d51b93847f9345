import { setTimeout } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import { AccountService } from '../../modules/account/account.service.js';
import {
  type RetranscriptionProgress,
  RetranscriptionsService,
} from '../../modules/transcriptions/retranscriptions.service.js';
import { resourceTime } from '../../platform/http/timestamps.js';

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

/** Between two lines of progress. */
const WATCH_MS = 5000;

/** Begins, shows or ends what the workers do (D49). The command only watches: without it they go on. */
export async function retranscribe(app: INestApplicationContext, options: RetranscribeOptions): Promise<object> {
  const service = app.get(RetranscriptionsService);
  const accountId = await accountOf(app, options);
  if (options.status) return show(await service.progress(accountId));
  if (options.cancel) return { canceled_accounts: await service.cancel(accountId) };
  const { modelNot, since, rate = null, quiet = false, detach } = options;
  if (modelNot === undefined) throw new Error('Add --model-not with the name of the present model.');
  if (since === undefined) throw new Error('Add --since with the day of the oldest recording, such as 2026-01-31.');
  const begun = await service.begin({ accountId, modelNot, since, rate, quiet });
  if (begun.length === 0) {
    throw new Error('No such recordings, or an earlier command is in progress for them. See retranscribe --status.');
  }
  const accounts = new Set(begun.map((account) => account.accountId));
  return show(detach ? await progressOf(service, accountId, accounts) : await watch(service, accountId, accounts));
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

function show(jobs: readonly RetranscriptionProgress[]): object {
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
