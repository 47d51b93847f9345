import { Injectable } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { QuotaName } from '../../../access/plans.js';

/** Counts the uploads and retries that were refused, by what was full. */
@Injectable()
export class QuotaRefusalsService {
  private readonly refusals: Counter<'quota'>;

  constructor(registry: Registry) {
    this.refusals = new Counter({
      name: 'quota_refusals_total',
      help: 'Uploads and retries refused because a quota of the account, or the disk, was full.',
      labelNames: ['quota'],
      registers: [registry],
    });
  }

  count(quota: QuotaName | 'free_disk'): void {
    this.refusals.inc({ quota });
  }
}
