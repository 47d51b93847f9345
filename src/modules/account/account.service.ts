import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { RateLimit } from '../../platform/config/env.js';
import { NotFoundError, ValidationError } from '../../platform/errors/errors.js';
import { isResourceId } from '../../platform/http/resource-id.js';
import { RecordingsService, type UsagePeriod } from '../recordings/recordings.service.js';
import { Account } from './account.entity.js';
import { limitOf } from './plans.js';

/** What every request has to know of its account. */
export interface Standing {
  suspended: boolean;
  limit: RateLimit;
}

export type AccountFields = Pick<Account, 'name' | 'email' | 'plan' | 'status' | 'rateLimit' | 'burstLimit'>;

@Injectable()
export class AccountService {
  constructor(
    @InjectRepository(Account) private readonly accounts: Repository<Account>,
    private readonly recordings: RecordingsService,
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

  /** Null when there is no such account any more. */
  async standing(accountId: string): Promise<Standing | null> {
    const account = isResourceId(accountId) ? await this.accounts.findOneBy({ id: accountId }) : null;
    return account && { suspended: account.status === 'suspended', limit: limitOf(account.plan, account) };
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

  /** What is undefined stays as it is. @throws NotFoundError, ValidationError */
  async update(accountId: string, changes: Partial<AccountFields>): Promise<Account> {
    const account = await this.get(accountId);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    refuseBurstBelowRate({ ...account, ...given });
    await this.accounts.update({ id: accountId }, { ...given, updatedAt: new Date() });
    return await this.get(accountId);
  }
}

/** Judged by what the plan makes of the figures, so that a lone rate above the default burst is fine. */
function refuseBurstBelowRate(fields: Pick<AccountFields, 'plan' | 'rateLimit' | 'burstLimit'>): void {
  const { rate, burst } = limitOf('enterprise', fields);
  if (burst < rate)
    throw new ValidationError({ field: 'burst-limit', reason: `must not be below the rate limit of ${rate}` });
}
