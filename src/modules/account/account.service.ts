import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Raw, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { selectAccountPair } from '../../access/accounts.queries.js';
import { limitOf, type Quotas, quotasOf, testQuotasOf } from '../../access/plans.js';
import { auditTarget, differences, recordChanges } from '../../access/audit-trail.js';
import type { RateLimit } from '../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { findOrFail, isResourceId } from '../../platform/database/find-or-fail.js';
import { lockByName } from '../../platform/database/locks.js';
import { ConflictError, InvalidRequestError } from '../../platform/errors/errors.js';
import { type Speakers, storedSpeakers } from '../../platform/speakers.js';
import { normalizeTerms } from '../../platform/vocabulary.js';
import { refuseAudioBeyondText, type RetentionPolicy } from '../recordings/retention/retention.service.js';
import { type UsagePeriod, UsageService } from '../recordings/usage-counters/usage.service.js';
import { Account } from './account.entity.js';

/** What the guards need to know of an account. */
export interface AccountAccess {
  suspended: boolean;
  isTest: boolean;
  recordsReads: boolean;
  limit: RateLimit;
  quotas: Quotas;
  /** `accounts.credential_version` when this was read. */
  version: number;
}

type NewAccount = Pick<Account, 'name' | 'email' | 'plan' | 'rateLimit' | 'burstLimit'>;
type AccountFields = NewAccount & Pick<Account, 'status' | 'finishQueue' | 'engines'> & RetentionPolicy;
/** In `quotas`, undefined restores the quota of the plan and null means unlimited. Omitted quotas stay. */
export type AccountChanges = Partial<AccountFields> & {
  quotas?: Partial<Record<keyof Quotas, number | null | undefined>>;
};

/** Accounts that a list of all of them reads at a time. */
const PAGE = 200;

@Injectable()
export class AccountService {
  constructor(
    @InjectRepository(Account) private readonly accounts: Repository<Account>,
    private readonly usages: UsageService,
    private readonly database: DatabaseService,
    private readonly versions: CredentialVersionsService,
  ) {}

  /** @throws NotFoundError */
  async get(accountId: string): Promise<Account> {
    return await findOrFail('account', accountId, (id) => this.accounts.findOneBy({ id }));
  }

  /** Usage in this UTC month and in the one before. */
  async usage(accountId: string): Promise<[UsagePeriod, UsagePeriod]> {
    const [usage] = await this.usagesOf([accountId]);
    return usage as [UsagePeriod, UsagePeriod];
  }

  /** The same of many accounts, in their order. */
  usagesOf(accountIds: readonly string[]): Promise<[UsagePeriod, UsagePeriod][]> {
    return this.usages.ofMonths(accountIds, new Date());
  }

  /** Null when there is no such account (any more). */
  async findAccess(accountId: string): Promise<AccountAccess | null> {
    const account = isResourceId(accountId) ? await findAccountAccess(this.database, accountId) : null;
    if (!account) return null;
    return {
      suspended: account.status === 'suspended',
      limit: limitOf(account.plan, account),
      isTest: account.testOf !== null,
      recordsReads: account.recordsReads,
      quotas: account.testOf === null ? quotasOf(account.plan, account.quotas) : testQuotasOf(account.plan),
      version: account.credentialVersion,
    };
  }

  /** All accounts but test accounts, oldest first, a page at a time: their number has no bound. */
  async *pages(): AsyncGenerator<Account[]> {
    let page: Account[] = [];
    do {
      const last = page.at(-1);
      page = await this.accounts.find({
        where: { testOf: IsNull(), ...(last && { id: MoreThan(last.id) }) },
        order: { id: 'ASC' },
        take: PAGE,
      });
      yield page;
    } while (page.length === PAGE);
  }

  /** @throws InvalidRequestError, ConflictError when another account has the e-mail address */
  async create(fields: NewAccount, { allowDuplicateEmail = false } = {}): Promise<Account> {
    refuseBurstBelowRate(fields);
    const now = new Date();
    const account = { id: uuidv7(), ...fields, status: 'active' as const, createdAt: now, updatedAt: now };
    await this.database.transact(async (tx) => {
      if (!allowDuplicateEmail) await refuseKnownEmail(tx, fields.email);
      await tx.manager.insert(Account, account);
      await recordChanges(tx, { ...changeOf(account.id, 'account.created'), after: fields });
    });
    return await this.get(account.id);
  }

  /**
   * What is undefined stays, except `finishQueue`: a status resets it to false unless it is given. The test account of the
   * account changes with it, but for the quotas.
   * @throws NotFoundError, InvalidRequestError, ConflictError for a test account
   */
  async update(accountId: string, changes: AccountChanges): Promise<Account> {
    const account = await this.get(accountId);
    if (account.testOf !== null) throw new ConflictError(`This is the test account of ${account.testOf}. Change that.`);
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
    if (changes.status !== undefined) given.finishQueue = changes.finishQueue ?? false;
    if (changes.quotas) given.quotas = { ...account.quotas, ...changes.quotas };
    refuseBurstBelowRate({ ...account, ...given });
    refuseAudioBeyondText({ ...account, ...given });
    const { quotas: _, ...shared } = given;
    const updatedAt = new Date();
    await this.versions.change(accountId, async (tx) => {
      await tx.manager.update(Account, { id: accountId }, { ...given, updatedAt });
      // A second statement: one test account may have been created while the first waited for the lock.
      await tx.manager.update(Account, { testOf: accountId }, { ...shared, updatedAt });
      await recordChanges(tx, { ...changeOf(accountId, 'account.updated'), ...differences<object>(account, given) });
    });
    const pair = await selectAccountPair(this.database, accountId);
    if (pair?.testId) await this.versions.announce(pair.testId);
    return await this.get(accountId);
  }

  /**
   * In place of the terms before (D48). Recordings that are transcribed from now on have them.
   * @returns the terms as they are stored.
   */
  async setVocabulary(accountId: string, terms: string[]): Promise<string[]> {
    const vocabulary = normalizeTerms(terms);
    await this.changeSettings(accountId, 'vocabulary.updated', { vocabulary });
    return vocabulary;
  }

  /** For recordings that are uploaded from now on (D86). @param speakers null: none */
  async setSpeakers(accountId: string, speakers: Speakers | null): Promise<number | null> {
    const stored = speakers === null ? null : storedSpeakers(speakers);
    await this.changeSettings(accountId, 'speakers.updated', { speakers: stored });
    return stored;
  }

  /** For recordings that are uploaded from now on (D78). @throws InvalidRequestError */
  async setRetention(accountId: string, policy: RetentionPolicy): Promise<void> {
    refuseAudioBeyondText(policy);
    await this.changeSettings(accountId, 'retention.updated', policy);
  }

  private async changeSettings(accountId: string, action: string, settings: Partial<Account>): Promise<void> {
    await this.database.transact(async (tx) => {
      const lock = { mode: 'for_no_key_update' } as const;
      const before = await tx.manager.findOne(Account, { where: { id: accountId }, lock });
      if (!before) return;
      await tx.manager.update(Account, { id: accountId }, { ...settings, updatedAt: new Date() });
      await recordChanges(tx, { ...changeOf(accountId, action), ...differences<object>(before, settings) });
    });
  }
}

const changeOf = (accountId: string, action: string) => ({
  accountId,
  action,
  targets: [auditTarget('account', accountId)],
});

/** Not a unique index, because an operator may allow duplicates. Creations with one address wait for each other. */
async function refuseKnownEmail(tx: Tx, email: string): Promise<void> {
  await lockByName(tx, `account-email:${email.toLowerCase()}`);
  const sameEmail = Raw((column) => `lower(${column}) = lower(:email)`, { email });
  const existing = await tx.manager.findOne(Account, {
    where: { email: sameEmail, testOf: IsNull() },
    order: { createdAt: 'ASC', id: 'ASC' },
  });
  if (!existing) return;
  throw new ConflictError(
    `The account ${existing.id} ("${existing.name}") already has the e-mail address ${existing.email}. ` +
      'Use account:update or key:create with it, or add --allow-duplicate-email.',
  );
}

/** Compares the limits in force, so that a rate above the default burst needs no burst of its own. */
function refuseBurstBelowRate(fields: Pick<AccountFields, 'plan' | 'rateLimit' | 'burstLimit'>): void {
  const { rate, burst } = limitOf('enterprise', fields);
  if (burst < rate)
    throw new InvalidRequestError({ field: 'burst-limit', reason: `must not be below the rate limit of ${rate}` });
}

type StoredAccess = Pick<
  Account,
  'status' | 'plan' | 'rateLimit' | 'burstLimit' | 'quotas' | 'credentialVersion' | 'testOf'
> & { recordsReads: boolean };

/** SQL, because it is prepared: it runs for every request whose account is not cached. */
async function findAccountAccess(database: DatabaseService, accountId: string): Promise<StoredAccess | null> {
  const [account] = await database.prepared<StoredAccess>(
    `SELECT status, plan, rate_limit AS "rateLimit", burst_limit AS "burstLimit", quotas,
       credential_version AS "credentialVersion", test_of AS "testOf",
       EXISTS (SELECT FROM audit_logs l WHERE l.account_id = accounts.id AND l.records_reads) AS "recordsReads"
     FROM accounts WHERE id = $1`,
    [accountId],
  );
  return account ?? null;
}
