import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import { VERSION_COPY_MS, versionKey } from '../../access/credential-versions.service.js';
import type { RateLimit } from '../config/env.js';
import { RedisService } from '../queue/redis.service.js';
import { type BucketState, bucketState, LocalBuckets } from './bucket-state.js';

const SCRIPT = readFileSync(fileURLToPath(new URL('./token-bucket.lua', import.meta.url)), 'utf8');

/** An account's bucket is moved only by who knows the account as it is now. */
export interface AccountClaim {
  accountId: string;
  /** The epoch at which the account and its credentials were read. */
  epoch: number;
  /** Whether that was just now, for this request. */
  isFresh: boolean;
}

/** One bucket for each name, shared by all processes through Redis and moved by one atomic script (D6). */
@Injectable()
export class TokenBucket {
  private readonly local = new LocalBuckets();

  constructor(private readonly redis: RedisService) {
    redis.client.defineCommand('takeToken', { numberOfKeys: 2, lua: SCRIPT });
  }

  /** Takes a token of the account's. @returns null, and takes none, when the claim may be out of date. */
  async takeFor(claim: AccountClaim, limit: RateLimit): Promise<BucketState | null> {
    const name = `account:${claim.accountId}`;
    const answer = await this.ask(name, limit, 1, claim);
    // Without Redis nobody can tell, and only what was just read counts.
    if (answer === null) return claim.isFresh ? this.local.take(name, limit, 1) : null;
    return answer[0] === -1 ? null : stateOf(limit, answer);
  }

  take(name: string, limit: RateLimit): Promise<BucketState> {
    return this.move(name, limit, 1);
  }

  /** The state without taking a token. */
  look(name: string, limit: RateLimit): Promise<BucketState> {
    return this.move(name, limit, 0);
  }

  private async move(name: string, limit: RateLimit, cost: 0 | 1): Promise<BucketState> {
    const answer = await this.ask(name, limit, cost);
    return answer === null ? this.local.take(name, limit, cost) : stateOf(limit, answer);
  }

  private ask(name: string, limit: RateLimit, cost: 0 | 1, claim?: AccountClaim): Promise<Answer | null> {
    const keys: [string, string] = [`rate-limit:${name}`, versionKey(claim?.accountId ?? '')];
    const epoch: [number | '', 0 | 1, number] = [claim?.epoch ?? '', claim?.isFresh ? 1 : 0, VERSION_COPY_MS];
    return this.redis.attempt((client) =>
      (client as unknown as TakesTokens).takeToken(...keys, limit.rate, limit.burst, cost, ...epoch),
    );
  }
}

type Answer = [taken: -1 | 0 | 1, backlog: number, now: number];

const stateOf = (limit: RateLimit, [taken, backlog, now]: Answer): BucketState =>
  bucketState(limit, taken === 1, backlog, now);

interface TakesTokens {
  takeToken(
    bucket: string,
    epochCopy: string,
    rate: number,
    burst: number,
    cost: number,
    epoch: number | '',
    isFresh: 0 | 1,
    copyMs: number,
  ): Promise<Answer>;
}
