import { statfs } from 'node:fs/promises';
import { Injectable, Logger } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Env } from '../config/env.js';
import { MetricsMiddleware } from '../observability/metrics.middleware.js';

/** How long one look at the disk serves. */
const LOOK_MS = 1000;

/** The free space of the disk at STORAGE_DIR: of the spool, and of the objects that the disk store keeps. */
@Injectable()
export class DiskSpaceService {
  private readonly logger = new Logger(DiskSpaceService.name);
  private look: Promise<number | null> | null = null;
  private lookedAt = 0;
  private hadRoom = true;

  constructor(
    private readonly env: Env,
    { registry }: MetricsMiddleware,
  ) {
    registry.registerMetric(freeBytesGauge(() => this.freeBytes()));
  }

  /** Whether at least STORAGE_MIN_FREE_BYTES are free. A disk that cannot be asked is left to fail by itself. */
  async hasRoom(): Promise<boolean> {
    const { storageMinFreeBytes: least } = this.env;
    if (least === 0) return true;
    const free = await this.freeBytes();
    const hasRoom = free === null || free >= least;
    if (hasRoom !== this.hadRoom) {
      this.hadRoom = hasRoom;
      if (hasRoom) this.logger.log({ free_bytes: free }, 'storage has room again');
      else this.logger.error({ free_bytes: free, least_bytes: least }, 'storage almost full; uploads refused');
    }
    return hasRoom;
  }

  private freeBytes(): Promise<number | null> {
    if (this.look === null || Date.now() - this.lookedAt > LOOK_MS) {
      this.lookedAt = Date.now();
      this.look = statfs(this.env.storageDir).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => null,
      );
    }
    return this.look;
  }
}

function freeBytesGauge(read: () => Promise<number | null>): Gauge {
  return new Gauge({
    name: 'storage_free_bytes',
    help: 'Free bytes of the disk at STORAGE_DIR.',
    registers: [],
    async collect() {
      const free = await read();
      if (free !== null) this.set(free);
    },
  });
}
