import { Module, type OnModuleInit } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { AuditReadsInterceptor } from './audit-reads.interceptor.js';
import { AuditRetentionService } from './audit-retention.service.js';
import { AuditSettingsController } from './audit-settings.controller.js';
import { AuditSettingsService } from './audit-settings.service.js';
import { AuditEntry, AuditLog } from './audit-entry.entity.js';
import { AuditLogController } from './audit-log.controller.js';
import { AuditLogService } from './audit-log.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry, AuditLog])],
  controllers: [AuditLogController, AuditSettingsController],
  providers: [
    AuditLogService,
    AuditRetentionService,
    AuditSettingsService,
    { provide: APP_INTERCEPTOR, useClass: AuditReadsInterceptor },
  ],
})
export class AuditModule implements OnModuleInit {
  constructor(
    private readonly log: AuditLogService,
    private readonly reconciler: ReconcilerService,
  ) {}

  onModuleInit(): void {
    this.reconciler.register('seal the audit log', () => this.log.sealRemaining());
  }
}
