import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { Tx } from '../platform/database/database.service.js';
import { RedisService } from '../platform/queue/redis.service.js';

/** Redis forgets its copy after so long: what it says is never older. */
export const VERSION_COPY_MS = 2000;

/** KEYS[1] the copy   ARGV[1] epoch   ARGV[2] its life in milliseconds */
const RAISE = `
local copy = tonumber(redis.call('GET', KEYS[1]) or 0)
if tonumber(ARGV[1]) > copy then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return copy`;

/**
 * `accounts.credential_version` is a number that triggers move in the transaction of every change of what an account's credentials are
 * worth: a key revoked, the account suspended, its plan or limits changed. Processes remember credentials together with the
 * epoch at which they read them, and the rate limiter's script, which every request asks anyway, compares that with a
 * copy in Redis. So a request needs no SQL for its credentials, and a change is heeded at once by every process.
 */
@Injectable()
export class CredentialVersionsService {
  constructor(private readonly redis: RedisService) {
    redis.client.defineCommand('raiseEpoch', { numberOfKeys: 1, lua: RAISE });
  }

  /** To be asked in the transaction of a change, after it. @returns the new epoch, for `announce` after the commit. */
  async after(tx: Tx, accountId: string): Promise<number> {
    const [row] = await tx.query<{ epoch: number }>('SELECT credential_version AS epoch FROM accounts WHERE id = $1', [
      accountId,
    ]);
    return row?.epoch ?? 0;
  }

  /** Resolves once no process takes the old epoch for the current one: then the change may be answered. */
  async announce(accountId: string, epoch: number): Promise<void> {
    const raised = await this.redis.attempt((client) =>
      (client as unknown as RaisesEpoch).raiseEpoch(versionKey(accountId), epoch, VERSION_COPY_MS),
    );
    // Others may still reach the Redis that we do not.
    if (raised === null) await delay(VERSION_COPY_MS);
  }
}

export const versionKey = (accountId: string): string => `epoch:${accountId}`;

interface RaisesEpoch {
  raiseEpoch(key: string, epoch: number, ms: number): Promise<number>;
}
