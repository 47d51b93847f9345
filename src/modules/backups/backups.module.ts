import { Module } from '@nestjs/common';
import { ErasureJournalService } from './erasure-journal.service.js';

/** What deliverers do for backups, which the operator's commands make (docs/decisions/0047). */
@Module({ providers: [ErasureJournalService] })
export class BackupsModule {}
