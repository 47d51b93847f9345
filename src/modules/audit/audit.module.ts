import { Module, type OnModuleInit } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ReconcilerService } from '../../platform/queue/reconciler.service.js';
import { AuditEntry, AuditLog } from './audit-entry.entity.js';
import { AuditLogController } from './audit-log.controller.js';
import { AuditLogService } from './audit-log.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([AuditEntry, AuditLog])],
  controllers: [AuditLogController],
  providers: [AuditLogService],
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
