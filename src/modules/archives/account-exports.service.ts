import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { endAccountExport, exportPrefix, selectAccountPair } from '../../access/accounts.queries.js';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { keepLease } from '../../platform/concurrency/lease-loops.js';
import { DatabaseService, type SqlRunner } from '../../platform/database/database.service.js';
import { lockByName } from '../../platform/database/locks.js';
import { ConflictError, NotFoundError } from '../../platform/errors/errors.js';
import type { ByteRange } from '../../platform/storage/file-system.js';
import { ObjectStore } from '../../platform/storage/object-store.js';
import { Spool } from '../../platform/storage/spool.js';
import { TranscriptExportsService } from '../transcriptions/exports/transcript-exports.service.js';
import { AccountExport } from './account-export.entity.js';
import { ArchiveWriter } from './archive-writer.js';
import { PartsWriter, partsPrefix, readParts } from './archive-parts.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const LEASE_SECONDS = 120;
const RENEWAL_MS = 30_000;

export const IN_PROGRESS = () => new ConflictError('An export of this account is being prepared. Wait for its end.');
export const NOT_READY = () =>
  new ConflictError('The export is not ready. See its status with GET /v1/account/export.');

/** Archives of accounts, made in the background and kept for a day (D105). */
@Injectable()
export class AccountExportsService implements OnApplicationShutdown {
  private readonly logger = new Logger(AccountExportsService.name);
  private readonly ending = new AbortController();
  /** One after the other in this process: each holds a connection to Postgres. */
  private last: Promise<void> = Promise.resolve();

  constructor(
    @InjectRepository(AccountExport) private readonly exports: Repository<AccountExport>,
    private readonly database: DatabaseService,
    private readonly store: ObjectStore,
    private readonly spool: Spool,
    private readonly texts: TranscriptExportsService,
  ) {}

  /** Begins to prepare an archive, in place of the one before. @throws ConflictError while one is being prepared */
  async begin(accountId: string): Promise<AccountExport> {
    const now = new Date();
    const id = uuidv7();
    const begun: AccountExport = {
      accountId,
      id,
      prefix: await partsPrefix(this.store, exportPrefix({ accountId, id })),
      status: 'preparing',
      leaseUntil: new Date(now.getTime() + LEASE_SECONDS * 1000),
      parts: 0,
      sizeBytes: null,
      createdAt: now,
      expiresAt: new Date(now.getTime() + DAY_MS),
    };
    await this.database.transact(async (tx) => {
      await lockByName(tx, `account_exports:${accountId}`);
      const present = { accountId, status: 'preparing' as const, leaseUntil: MoreThan(now) };
      if (await tx.manager.existsBy(AccountExport, present)) throw IN_PROGRESS();
      await endAccountExport(tx, accountId);
      await tx.manager.insert(AccountExport, begun);
      await recordChanges(tx, { accountId, action: 'account.exported', targets: [auditTarget('export', begun.id)] });
    });
    this.last = this.prepare(begun, this.last);
    return begun;
  }

  /** @throws NotFoundError when there is none, or not any more */
  async get(accountId: string): Promise<AccountExport> {
    const found = await this.exports.findOneBy({ accountId, expiresAt: MoreThan(new Date()) });
    if (!found) throw new NotFoundError('export');
    const isLost = found.status === 'preparing' && found.leaseUntil <= new Date();
    return isLost ? { ...found, status: 'failed' } : found;
  }

  /** @throws NotFoundError, ConflictError while it is not ready */
  async getReady(accountId: string): Promise<AccountExport & { sizeBytes: string }> {
    const found = await this.get(accountId);
    if (found.sizeBytes === null) throw NOT_READY();
    return { ...found, sizeBytes: found.sizeBytes };
  }

  /** @throws ObjectNotFoundError, StorageUnavailableError */
  read(of: Pick<AccountExport, 'accountId' | 'id' | 'prefix'>, range: ByteRange, signal: AbortSignal) {
    return readParts(this.store, prefixOf(of), range, signal);
  }

  async onApplicationShutdown(): Promise<void> {
    this.ending.abort();
    await this.last;
  }

  /** Never rejects. @param turn when the one before has ended; the lease is renewed meanwhile */
  private async prepare(begun: AccountExport, turn: Promise<void>): Promise<void> {
    const { accountId, id } = begun;
    const ended = new AbortController();
    const renewal = keepLease(() => renewLease(this.database, begun), RENEWAL_MS, ended);
    const parts = new PartsWriter(this.store, this.spool, prefixOf(begun), async (part, key) => {
      if (!(await reservePart(this.database, begun, part, key))) throw new Error('the export was ended');
    });
    try {
      await turn;
      await this.writeArchive(begun, parts, AbortSignal.any([ended.signal, this.ending.signal]));
      const done = { status: 'ready' as const, sizeBytes: `${parts.sizeBytes}` };
      const { affected } = await this.exports.update({ accountId, id }, done);
      if (affected !== 1) throw new Error('the export was ended');
    } catch (error) {
      this.logger.warn({ err: error, export_id: id }, 'account export failed');
      await this.giveUp(begun, parts.count).catch(() => undefined);
    } finally {
      clearInterval(renewal);
    }
  }

  private async writeArchive(begun: AccountExport, parts: PartsWriter, signal: AbortSignal): Promise<void> {
    const { accountId, createdAt } = begun;
    try {
      const pair = await selectAccountPair(this.database, accountId);
      await this.database.transact(async (tx) => {
        const write = (bytes: Uint8Array): Promise<void> => parts.write(bytes);
        const presentKey = (id: string): Promise<string | null> => selectObjectKey(this.database, id);
        const writer = new ArchiveWriter(tx, this.store, this.texts, write, createdAt, presentKey);
        await writer.write({ accountId, testAccountId: pair?.testId ?? null }, signal);
      });
      await parts.end();
    } finally {
      await parts.discard();
    }
  }

  /** The next round of the reconciler removes what was stored. */
  private async giveUp(begun: AccountExport, parts: number): Promise<void> {
    const { accountId, id } = begun;
    await this.exports.update({ accountId, id }, { status: 'failed' });
    await discardParts(this.database, prefixOf(begun), parts);
  }
}

const prefixOf = (of: Pick<AccountExport, 'accountId' | 'id' | 'prefix'>): string => of.prefix ?? exportPrefix(of);

/** Null when the recording or its audio is gone. SQL, because the entity is of another module. */
async function selectObjectKey(runner: SqlRunner, recordingId: string): Promise<string | null> {
  const [row] = await runner.query<{ key: string }>(
    'SELECT object_key AS key FROM recordings WHERE id = $1 AND audio_deleted_at IS NULL',
    [recordingId],
  );
  return row?.key ?? null;
}

/** SQL, because of the clock of the database. @returns whether the export is still wanted */
async function renewLease(runner: SqlRunner, { accountId, id }: AccountExport): Promise<boolean> {
  const renewed = await runner.query(
    `UPDATE account_exports SET lease_until = now() + make_interval(secs => $3) WHERE account_id = $1 AND id = $2
     RETURNING 1`,
    [accountId, id, LEASE_SECONDS],
  );
  return renewed.length > 0;
}

/**
 * Lists a part as an object to remove, an hour after nobody can begin to read it. One statement, hence SQL.
 * @returns false when the export was ended
 */
async function reservePart(
  runner: SqlRunner,
  { accountId, id }: AccountExport,
  part: number,
  key: string,
): Promise<boolean> {
  const reserved = await runner.query(
    `WITH owner AS (
       UPDATE account_exports SET parts = $3 WHERE account_id = $1 AND id = $2 RETURNING expires_at)
     INSERT INTO object_removals (object_key, remove_after)
     SELECT $4, expires_at + interval '1 hour' FROM owner RETURNING 1`,
    [accountId, id, part + 1, key],
  );
  return reserved.length > 0;
}

/** Also those that were written after somebody had ended the export. SQL, because many rows go in by one statement. */
async function discardParts(runner: SqlRunner, prefix: string, parts: number): Promise<void> {
  await runner.query(
    `INSERT INTO object_removals (object_key, remove_after)
     SELECT $1 || '/' || n || '.tar', now() FROM generate_series(0, $2::int - 1) n
     ON CONFLICT ON CONSTRAINT object_removals_pkey DO UPDATE SET remove_after = now()`,
    [prefix, parts],
  );
}
