import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { LessThanOrEqual, MoreThan } from 'typeorm';
import { auditTarget, recordChanges } from '../../access/audit-trail.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { ReconcilerService, repeatWhileFull } from '../../platform/queue/reconciler.service.js';
import { type ChainEnd, follow } from './audit-chain.js';
import { AuditEntry, AuditLog } from './audit-entry.entity.js';
import { ENTRIES_REMOVED, lockLog, sealSome, selectDueLogs } from './audit-log.queries.js';

/** Entries that one transaction removes. */
const BATCH = 500;
/** Accounts of one round of the reconciler. */
const MAX_ACCOUNTS = 200;

/** Removes what has been kept for as long as the account wants (D98). */
@Injectable()
export class AuditRetentionService implements OnModuleInit {
  private readonly logger = new Logger(AuditRetentionService.name);

  constructor(
    private readonly database: DatabaseService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('remove old audit entries', () => this.removeDue());
  }

  async removeDue(): Promise<void> {
    for (const { accountId, before } of await selectDueLogs(this.database, MAX_ACCOUNTS)) {
      await repeatWhileFull(BATCH, () => this.database.transact((tx) => this.removeSome(tx, accountId, before)));
    }
  }

  /**
   * Removes the oldest entries, as far as the chain is whole: what was changed stays to be found. A new entry, which is in the
   * chain when this commits, says where the chain begins from now on.
   * @returns how many
   */
  private async removeSome(tx: Tx, accountId: string, before: Date): Promise<number> {
    const log = await lockLog(tx, accountId);
    const oldest = await tx.manager.find(AuditEntry, {
      where: { accountId, number: MoreThan(log.removedNumber) },
      order: { number: 'ASC' },
      take: BATCH,
    });
    const start = { number: Number(log.removedNumber), hash: log.removedHash };
    let end: ChainEnd = start;
    for (const entry of oldest) {
      if (entry.at >= before) break;
      const next = follow(end, entry);
      if ('problem' in next) {
        this.logger.error({ account_id: accountId, ...next }, 'audit log not as written; entries are kept');
        break;
      }
      end = next;
    }
    const count = end.number - start.number;
    if (count === 0) return 0;
    await tx.manager.delete(AuditEntry, { accountId, number: LessThanOrEqual(`${end.number}`) });
    await tx.manager.update(AuditLog, { accountId }, { removedNumber: `${end.number}`, removedHash: end.hash });
    const after = { last_number: end.number, last_hash: end.hash };
    await recordChanges(tx, {
      accountId,
      action: ENTRIES_REMOVED,
      targets: [auditTarget('account', accountId)],
      after,
    });
    await repeatWhileFull(BATCH, () => sealSome(tx, accountId, BATCH));
    return count;
  }
}
