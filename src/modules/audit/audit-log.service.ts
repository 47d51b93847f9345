import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, MoreThan, Repository } from 'typeorm';
import { ACTOR_KINDS } from '../../access/acting.js';
import { DatabaseService, type SqlRunner, type Tx } from '../../platform/database/database.service.js';
import { fromDay, untilDay } from '../../platform/database/statement-parts.js';
import { checkDays, type PageResult } from '../../platform/http/page.js';
import { repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { type BrokenEntry, type ChainEnd, follow, hashOf } from './audit-chain.js';
import { AuditEntry, AuditLog, type NamedEntry } from './audit-entry.entity.js';
import type { AuditLogQuery } from './audit-log.dto.js';

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
    const { page, limit, action, actor, target, date_from: from, date_to: to } = query;
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
    const [items, total] = await found
      .orderBy('e.number', 'DESC')
      .offset(page * limit)
      .limit(limit)
      .getManyAndCount();
    return { items: await withNames(this.database, items), total };
  }

  /** Accounts that have entries, also such as have lost them all. */
  async accountsWithLog(): Promise<string[]> {
    return await selectAccountsWithLog(this.database);
  }

  /** What no reader has sealed. */
  async sealRemaining(): Promise<void> {
    for (const accountId of await selectUnsealedAccounts(this.database, MAX_ACCOUNTS)) await this.seal(accountId);
  }

  private async seal(accountId: string): Promise<void> {
    if (!(await this.entries.existsBy({ accountId, number: IsNull() }))) return;
    await repeatWhileFull(BATCH, () => this.database.transact((tx) => sealSome(tx, accountId)));
  }

  async verify(accountId: string): Promise<Verification> {
    const log = await this.logs.findOneBy({ accountId });
    const head = { number: Number(log?.lastNumber ?? 0), hash: log?.lastHash ?? '' };
    let end: ChainEnd = { number: Number(log?.removedNumber ?? 0), hash: log?.removedHash ?? '' };
    const unsealed = await this.entries.countBy({ accountId, number: IsNull() });
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
    return result(end.hash === head.hash ? null : { number: end.number, id: null, problem: 'changed' });
  }

  /** Whether the head has moved on, or the entry has no head. */
  private async tailProblem(accountId: string, { id, number }: AuditEntry): Promise<BrokenEntry | null> {
    const log = await this.logs.findOneBy({ accountId });
    const isSealed = Number(log?.lastNumber ?? 0) >= Number(number);
    return isSealed ? null : { number: Number(number), id, problem: 'unexpected' };
  }
}

/** SQL, because people belong to another module. */
async function withNames(runner: SqlRunner, entries: readonly AuditEntry[]): Promise<NamedEntry[]> {
  const ids = new Set(entries.flatMap(({ personId }) => personId ?? []));
  const people =
    ids.size === 0
      ? []
      : await runner.query<{ id: string; name: string }>('SELECT id, name FROM people WHERE id = ANY ($1)', [[...ids]]);
  const names = new Map(people.map(({ id, name }) => [id, name]));
  return entries.map((entry) => ({ ...entry, personName: names.get(entry.personId ?? '') ?? null }));
}

/**
 * Gives numbers and hashes to the next entries of the chain. Two at a time wait for each other on the row of the chain, and
 * each statement sees what was committed before it, so that whoever sees a number sees all lower ones (decision 0013).
 * @returns how many.
 */
async function sealSome(tx: Tx, accountId: string): Promise<number> {
  const log = await lockLog(tx, accountId);
  const entries = await tx.manager.find(AuditEntry, {
    where: { accountId, number: IsNull() },
    order: { id: 'ASC' },
    take: BATCH,
  });
  const end = { number: Number(log.lastNumber), hash: log.lastHash };
  const sealed = entries.map((entry) => {
    const previousHash = end.hash;
    end.number++;
    end.hash = hashOf(entry, end.number, previousHash);
    return { id: entry.id, number: end.number, previousHash, hash: end.hash };
  });
  if (sealed.length === 0) return 0;
  await writeSeals(tx, sealed);
  await tx.manager.update(AuditLog, { accountId }, { lastNumber: `${end.number}`, lastHash: end.hash });
  return sealed.length;
}

/** SQL because of ON CONFLICT and the lock. */
async function lockLog(tx: Tx, accountId: string): Promise<AuditLog> {
  await tx.query('INSERT INTO audit_logs (account_id) VALUES ($1) ON CONFLICT (account_id) DO NOTHING', [accountId]);
  return await tx.manager.findOneOrFail(AuditLog, { where: { accountId }, lock: { mode: 'for_no_key_update' } });
}

interface Seal {
  id: string;
  number: number;
  previousHash: string;
  hash: string;
}

/** SQL, because one statement changes many rows. */
async function writeSeals(tx: Tx, seals: readonly Seal[]): Promise<void> {
  await tx.query(
    `UPDATE audit_entries e SET number = s.number, previous_hash = s.previous, hash = s.hash
     FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[]) AS s (id, number, previous, hash) WHERE e.id = s.id`,
    [
      seals.map(({ id }) => id),
      seals.map(({ number }) => number),
      seals.map(({ previousHash }) => previousHash),
      seals.map(({ hash }) => hash),
    ],
  );
}

/** SQL because of DISTINCT. */
async function selectUnsealedAccounts(runner: SqlRunner, count: number): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    'SELECT DISTINCT account_id AS id FROM audit_entries WHERE number IS NULL LIMIT $1',
    [count],
  );
  return rows.map(({ id }) => id);
}

/** SQL because of UNION. */
async function selectAccountsWithLog(runner: SqlRunner): Promise<string[]> {
  const rows = await runner.query<{ id: string }>(
    'SELECT account_id AS id FROM audit_logs UNION SELECT account_id FROM audit_entries ORDER BY 1',
  );
  return rows.map(({ id }) => id);
}
