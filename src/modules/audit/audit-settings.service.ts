import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { raiseCredentialVersion } from '../../access/accounts.queries.js';
import { auditTarget, differences, recordChanges } from '../../access/audit-trail.js';
import { CredentialVersionsService } from '../../access/credential-versions.service.js';
import { AuditLog } from './audit-entry.entity.js';
import { lockLog } from './audit-log.queries.js';

export type AuditSettings = Pick<AuditLog, 'recordsReads' | 'retainDays'>;

/** What an account has recorded, and for how long it is kept (D98). */
@Injectable()
export class AuditSettingsService {
  constructor(
    @InjectRepository(AuditLog) private readonly logs: Repository<AuditLog>,
    private readonly versions: CredentialVersionsService,
  ) {}

  async get(accountId: string): Promise<AuditSettings> {
    const log = await this.logs.findOneBy({ accountId });
    return { recordsReads: log?.recordsReads ?? false, retainDays: log?.retainDays ?? null };
  }

  /** From the next request on, in every process: what the guards know of an account has `recordsReads`. */
  async set(accountId: string, { recordsReads, retainDays }: AuditSettings): Promise<void> {
    await this.versions.change(accountId, async (tx) => {
      const log = await lockLog(tx, accountId);
      await tx.manager.update(AuditLog, { accountId }, { recordsReads, retainDays });
      if (log.recordsReads !== recordsReads) await raiseCredentialVersion(tx, accountId);
      const settings = ({ recordsReads: records_reads, retainDays: retain_days }: AuditSettings) => ({
        records_reads,
        retain_days,
      });
      const changed = differences(settings(log), settings({ recordsReads, retainDays }));
      if (Object.keys(changed.after).length === 0) return;
      const targets = [auditTarget('account', accountId)];
      await recordChanges(tx, { accountId, action: 'audit_log.updated', targets, ...changed });
    });
  }
}
