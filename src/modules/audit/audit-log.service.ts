import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Not, Repository, type SelectQueryBuilder } from 'typeorm';
import { ACTOR_KINDS } from '../../access/acting.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { fromDay, untilDay } from '../../platform/database/statement-parts.js';
import { checkDays, type PageResult } from '../../platform/http/page.js';
import { repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { type BrokenEntry, type ChainEnd, follow } from './audit-chain.js';
import { AuditEntry, AuditLog, type NamedEntry } from './audit-entry.entity.js';
import type { AuditLogQuery } from './audit-log.dto.js';
import { ENTRIES_REMOVED, sealSome, selectNames, selectUnsealedAccounts } from './audit-log.queries.js';

/** Entries that one transaction seals, and that are read at once. */
const BATCH = 500;
/** Accounts that one round of the reconciler seals. */
const MAX_ACCOUNTS = 200;

export interface Verification {
  entries: number;
  /** Entries that are in no chain yet. */
  unsealed: number;
  end: ChainEnd;
  broken: BrokenEntry | null;
}

/** Sealed entries of a list: how many, and between which numbers. */
export interface Extent {
  total: number;
  first: number;
  last: number;
}

/** Seals the entries of the audit log in a chain for each account, lists and verifies them (D98). */
@Injectable()
export class AuditLogService {
  constructor(
    @InjectRepository(AuditEntry) private readonly entries: Repository<AuditEntry>,
    @InjectRepository(AuditLog) private readonly logs: Repository<AuditLog>,
    private readonly database: DatabaseService,
  ) {}

  /** Newest first, with all that was committed before. @throws InvalidRequestError */
  async list(accountId: string, query: AuditLogQuery): Promise<PageResult<NamedEntry>> {
    checkDays(query);
    await this.seal(accountId);
    const { action, actor, target, date_from: from, date_to: to } = query;
    const isFiltered = [action, actor, target, from, to].some((filter) => filter !== undefined);
    const skipped = query.page * query.limit;
    const found = this.find(accountId, query);
    const extent = await (isFiltered ? extentOf(found).getRawOne<Extent>() : this.extentOfAll(accountId));
    const { total, first, last } = extent as Extent;
    // No number is missing in the whole log: a page begins at its number, and nothing is skipped.
    const page = isFiltered
      ? newestOf(found, { first, last }).offset(skipped)
      : newestOf(found, { first, last: last - skipped });
    const items = await page.limit(query.limit).getMany();
    return { items: await this.withNames(items), total };
  }

  private async extentOfAll(accountId: string): Promise<Extent> {
    const log = await this.logs.findOneBy({ accountId });
    const [removed, last] = [Number(log?.removedNumber ?? 0), Number(log?.lastNumber ?? 0)];
    return { total: last - removed, first: removed + 1, last };
  }

  /** Oldest first, behind the entry with the number `after`, with all that was committed before. @throws InvalidRequestError */
  async follow(accountId: string, query: AuditLogQuery, after: number): Promise<NamedEntry[]> {
    checkDays(query);
    await this.seal(accountId);
    const found = this.find(accountId, query).andWhere('e.number > :after', { after });
    return await this.withNames(await found.orderBy('e.number', 'ASC').limit(query.limit).getMany());
  }

  /** Sealed entries that match, in no order. */
  find(accountId: string, filters: Partial<AuditLogQuery>): SelectQueryBuilder<AuditEntry> {
    const { action, actor, target, date_from: from, date_to: to } = filters;
    const found = this.entries
      .createQueryBuilder('e')
      .where('e.account_id = :accountId AND e.number IS NOT NULL', { accountId });
    if (action !== undefined) found.andWhere('e.action = :action', { action });
    if (target !== undefined) found.andWhere('e.target_id = :target', { target });
    if (from !== undefined) found.andWhere(fromDay('e.at', ':from'), { from });
    if (to !== undefined) found.andWhere(untilDay('e.at', ':to'), { to });
    if (actor !== undefined) {
      const isKind = ACTOR_KINDS.some((kind) => kind === actor);
      found.andWhere(isKind ? 'e.actor_kind = :actor' : '(e.key_id = :actor OR e.person_id = :actor)', { actor });
    }
    return found;
  }

  private async withNames(entries: readonly AuditEntry[]): Promise<NamedEntry[]> {
    const names = await selectNames(this.database, [...new Set(entries.flatMap(({ personId }) => personId ?? []))]);
    return entries.map((entry) => ({ ...entry, personName: names.get(entry.personId ?? '') ?? null }));
  }

  /** What no reader has sealed. */
  async sealRemaining(): Promise<void> {
    for (const accountId of await selectUnsealedAccounts(this.database, MAX_ACCOUNTS)) await this.seal(accountId);
  }

  private async seal(accountId: string): Promise<void> {
    if (!(await this.entries.existsBy({ accountId, number: IsNull() }))) return;
    await repeatWhileFull(BATCH, () => this.database.transact((tx) => sealSome(tx, accountId, BATCH)));
  }

  async verify(accountId: string): Promise<Verification> {
    for (;;) {
      const log = await this.logs.findOneBy({ accountId });
      const verification = await this.verifyFrom(accountId, log);
      const now = verification.broken && (await this.logs.findOneBy({ accountId }));
      // Otherwise entries were removed meanwhile.
      if (!now || now.removedNumber === log?.removedNumber) return verification;
    }
  }

  private async verifyFrom(accountId: string, log: AuditLog | null): Promise<Verification> {
    const head = { number: Number(log?.lastNumber ?? 0), hash: log?.lastHash ?? '' };
    let end: ChainEnd = { number: Number(log?.removedNumber ?? 0), hash: log?.removedHash ?? '' };
    const unsealed = await this.entries.countBy({ accountId, number: IsNull() });
    const start = end;
    let entries = 0;
    const result = (broken: BrokenEntry | null): Verification => ({ entries, unsealed, end, broken });
    for (let batch: AuditEntry[] | null = null; !batch || batch.length === BATCH;) {
      batch = await this.entries.find({
        where: { accountId, number: MoreThan(`${end.number}`) },
        order: { number: 'ASC' },
        take: BATCH,
      });
      for (const entry of batch) {
        // Sealed since the head was read.
        if (Number(entry.number) > head.number) return result(await this.tailProblem(accountId, entry));
        const next = follow(end, entry);
        if ('problem' in next) return result(next);
        end = next;
        entries++;
      }
    }
    if (end.number < head.number) return result({ number: end.number + 1, id: null, problem: 'missing' });
    if (end.hash !== head.hash) return result({ number: end.number, id: null, problem: 'changed' });
    return result(
      (await this.isBeginning(accountId, start)) ? null : { number: start.number, id: null, problem: 'missing' },
    );
  }

  /** Whether the entry of the last removal says that the chain begins there. */
  private async isBeginning(accountId: string, { number, hash }: ChainEnd): Promise<boolean> {
    const last = await this.entries.findOne({
      where: { accountId, action: ENTRIES_REMOVED, number: Not(IsNull()) },
      order: { number: 'DESC' },
    });
    const removed: { last_number?: unknown; last_hash?: unknown } | null | undefined = last?.after;
    return removed ? removed.last_number === number && removed.last_hash === hash : number === 0;
  }

  /** Whether the head has moved on, or the entry has no head. */
  private async tailProblem(accountId: string, { id, number }: AuditEntry): Promise<BrokenEntry | null> {
    const log = await this.logs.findOneBy({ accountId });
    const isSealed = Number(log?.lastNumber ?? 0) >= Number(number);
    return isSealed ? null : { number: Number(number), id, problem: 'unexpected' };
  }
}

/** In indexes alone. Postgres would look for a day in the past from the end of the log if it did not know where it ends. */
export const extentOf = (found: SelectQueryBuilder<AuditEntry>): SelectQueryBuilder<AuditEntry> =>
  found
    .clone()
    .select('count(*)::integer', 'total')
    .addSelect('coalesce(min(e.number), 0)::float8', 'first')
    .addSelect('coalesce(max(e.number), 0)::float8', 'last');

export const newestOf = (
  found: SelectQueryBuilder<AuditEntry>,
  { first, last }: Pick<Extent, 'first' | 'last'>,
): SelectQueryBuilder<AuditEntry> =>
  found.andWhere('e.number BETWEEN :first AND :last', { first, last }).orderBy('e.number', 'DESC');
