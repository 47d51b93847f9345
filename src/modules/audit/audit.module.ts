import { Module, type OnModuleInit } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Registry } from 'prom-client';
import { sharedRun } from '../../platform/concurrency/shared-run.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService } from '../../platform/database/database.service.js';
import { addGauge } from '../../platform/observability/metrics.js';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { AuditRetentionService } from './audit-retention.service.js';
import { AuditSettingsController } from './audit-settings.controller.js';
import { AuditSettingsService } from './audit-settings.service.js';
import { AuditEntry, AuditLog } from './audit-entry.entity.js';
import { AuditLogController } from './audit-log.controller.js';
import { oldestUnsealedSeconds } from './audit-log.queries.js';
import { AuditLogService } from './audit-log.service.js';

/** Of the metric, so that several that scrape cost no more than one. */
const KEPT_MS = 10_000;

@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry, AuditLog])],
  controllers: [AuditLogController, AuditSettingsController],
  providers: [AuditLogService, AuditRetentionService, AuditSettingsService],
})
export class AuditModule implements OnModuleInit {
  constructor(
    private readonly log: AuditLogService,
    private readonly database: DatabaseService,
    private readonly reconciler: ReconcilerService,
    private readonly env: Env,
    private readonly registry: Registry,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('seal the audit log', () => this.log.sealRemaining());
    // Transcribers may not read the log, and one figure is enough.
    if (!this.env.roles.includes('deliverer')) return;
    const help = 'How long the oldest entry of an audit log has waited for its seal, in seconds.';
    const read = sharedRun(() => oldestUnsealedSeconds(this.database).catch(() => null), KEPT_MS);
    addGauge(this.registry, 'audit_unsealed_seconds', help, read);
  }
}
