import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { addedBy, type Extension } from '../../extension.js';
import type { Account } from '../../modules/account/account.entity.js';
import { AccountService } from '../../modules/account/account.service.js';
import { AccountPurge, type Remains } from '../../modules/account/purge/account-purge.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { NotFoundError } from '../../platform/errors/errors.js';
import { isResourceId } from '../../platform/http/input/resource-id.js';
import type { ObjectStore } from '../../platform/storage/object-store.js';
import { selectObjectStore } from '../../platform/storage/object-store-registry.js';
import { Spool } from '../../platform/storage/spool.js';
import { recordByOperator } from './security-events.js';

interface PurgeOptions {
  account: string;
  yes?: true;
  withoutAudio?: true;
}

/** Removes an account with all that belongs to it, and counts what is left. Exit code 1 when that is not nothing. */
export const purgeAccount =
  (extensions: Extension[]) =>
  async (app: INestApplicationContext, options: PurgeOptions): Promise<object> => {
    if (!isResourceId(options.account)) throw new NotFoundError('account');
    const env = app.get(Env);
    const definition = selectObjectStore(env, addedBy(extensions, 'objectStores'));
    const store: ObjectStore & { onApplicationShutdown?(): void } = await definition.open(
      env,
      new Spool(join(env.storageDir, 'spool')),
    );
    try {
      const purge = new AccountPurge(app.get(DatabaseService), store, options.account);
      const account = await findAccount(app, options.account);
      const before = await purge.remains();
      refuseWrongStore(env, before, options);
      if (account) await suspend(app, account, options);
      const removed = await purge.run();
      recordByOperator(app, 'account removed', { account_id: options.account });
      const left = await purge.remains();
      const isClean = left.objects === 0 && Object.values(left.rows).every((count) => count === 0);
      if (!isClean) process.exitCode = 1;
      return {
        account: options.account,
        found: account !== null,
        removed,
        left: { ...left.rows, [`objects in ${store.bucket}/${options.account}/`]: left.objects },
        advice: isClean ? 'Nothing is left.' : 'Run it again when uploads under way have ended, at most an hour later.',
      };
    } finally {
      store.onApplicationShutdown?.();
    }
  };

/** Null when an earlier run has removed it: then only objects may be left. */
async function findAccount(app: INestApplicationContext, id: string): Promise<Account | null> {
  try {
    return await app.get(AccountService).get(id);
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}

async function suspend(app: INestApplicationContext, { id, name, status }: Account, { yes }: PurgeOptions) {
  if (status === 'suspended') return;
  if (!yes) throw new Error(`The account ${id} ("${name}") is active. Suspend it first, or add --yes.`);
  await app.get(AccountService).update(id, { status: 'suspended' });
}

/** Rows without their audio would leave it in the real store for ever. */
function refuseWrongStore({ storageDriver }: Env, { rows, objects }: Remains, { withoutAudio }: PurgeOptions): void {
  const { recordings = 0 } = rows;
  if (recordings === 0 || objects > 0 || withoutAudio) return;
  throw new Error(
    `The account has ${recordings} recordings, and this storage (${storageDriver}) none of their audio. Use the ` +
      'environment of the service, or add --without-audio if the audio is lost.',
  );
}
