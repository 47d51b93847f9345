import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { type Versioned, CredentialCache } from '../../access/credential-cache.js';
import type { RateLimit } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { NotFoundError, InvalidRequestError } from '../../platform/errors/errors.js';
import { isResourceId } from '../../platform/http/input/resource-id.js';
import { RecordingsService, type UsagePeriod } from '../recordings/recordings.service.js';
import { Account } from './account.entity.js';
import { limitOf } from './plans.js';

/** What every request has to know of its account. */
export interface AccountAccess extends Versioned {
  suspended: boolean;
  limit: RateLimit;
}

export type AccountFields = Pick<Account, 'name' | 'email' | 'plan' | 'status' | 'rateLimit' | 'burstLimit'>;

@Injectable()
export class AccountService {
  private readonly standings = new CredentialCache<AccountAccess>((accountId) => this.readStanding(accountId));

  constructor(
    @InjectRepository(Account) private readonly accounts: Repository<Account>,
    private readonly recordings: RecordingsService,
    private readonly database: DatabaseService,
    private readonly epochs: CredentialVersionsService,
  ) {}

  /** @throws NotFoundError */
  async get(accountId: string): Promise<Account> {
    const account = isResourceId(accountId) ? await this.accounts.findOneBy({ id: accountId }) : null;
    if (!account) throw new NotFoundError('account');
    return account;
  }

  /** Of this UTC month and the one before. */
  usage(accountId: string): Promise<[UsagePeriod, UsagePeriod]> {
    return this.recordings.usage(accountId, new Date());
  }

  /** As `standing`, from memory alone and at once. */
  peekAccess(accountId: string): AccountAccess | null {
    return this.standings.recall(accountId);
  }

  /**
   * Null when there is no such account any more.
   * @param fresh asks Postgres, also where the standing is remembered.
   */
  async standing(accountId: string, fresh: boolean): Promise<AccountAccess | null> {
    return isResourceId(accountId) ? await this.standings.get(accountId, fresh) : null;
  }

  list(): Promise<Account[]> {
    return this.accounts.find({ order: { createdAt: 'ASC', id: 'ASC' } });
  }

  async create(fields: Omit<AccountFields, 'status'>): Promise<Account> {
    refuseBurstBelowRate(fields);
    const now = new Date();
    const account = { id: uuidv7(), ...fields, status: 'active' as const, createdAt: now, updatedAt: now };
    await this.accounts.insert(account);
    return account;
  }

  /** What is undefined stays as it is. @throws NotFoundError, InvalidRequestError */
  async update(accountId: string, changes: Partial<AccountFields>): Promise<Account> {
    const account = await this.get(accountId);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    refuseBurstBelowRate({ ...account, ...given });
    const epoch = await this.database.transact(async (tx) => {
      await tx.manager.update(Account, { id: accountId }, { ...given, updatedAt: new Date() });
      return await this.epochs.after(tx, accountId);
    });
    await this.epochs.announce(accountId, epoch);
    return await this.get(accountId);
  }

  private async readStanding(accountId: string): Promise<AccountAccess | null> {
    const [row] = await this.database.prepared<
      Pick<Account, 'status' | 'plan' | 'rateLimit' | 'burstLimit'> & Versioned
    >(
      `SELECT status, plan, rate_limit AS "rateLimit", burst_limit AS "burstLimit", credential_version AS epoch
       FROM accounts WHERE id = $1`,
      [accountId],
    );
    if (!row) return null;
    return { suspended: row.status === 'suspended', limit: limitOf(row.plan, row), epoch: row.epoch };
  }
}

/** Judged by what the plan makes of the figures, so that a lone rate above the default burst is fine. */
function refuseBurstBelowRate(fields: Pick<AccountFields, 'plan' | 'rateLimit' | 'burstLimit'>): void {
  const { rate, burst } = limitOf('enterprise', fields);
  if (burst < rate)
    throw new InvalidRequestError({ field: 'burst-limit', reason: `must not be below the rate limit of ${rate}` });
}
