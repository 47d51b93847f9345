import { Injectable, Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { Env } from '../config/env.js';
import { sharedRun } from '../concurrency/shared-run.js';
import { addGauge } from '../observability/metrics.js';
import { spaceOf } from './file-system.js';

const KEPT_MS = 1000;

/** The free space of the disk at STORAGE_DIR: of the spool, and of the objects that the disk store keeps. */
@Injectable()
export class DiskSpaceService {
  private readonly logger = new Logger(DiskSpaceService.name);
  /** Null for a disk that does not answer. */
  private readonly space = sharedRun(() => spaceOf(this.env.storageDir).catch(() => null), KEPT_MS);
  private hadRoom = true;

  constructor(
    private readonly env: Env,
    registry: Registry,
  ) {
    const [free, size] = ['Free bytes of the disk at STORAGE_DIR.', 'Size of the disk at STORAGE_DIR.'];
    addGauge(registry, 'storage_free_bytes', free, async () => (await this.space())?.free ?? null);
    addGauge(registry, 'storage_size_bytes', size, async () => (await this.space())?.size ?? null);
  }

  /** Whether at least STORAGE_MIN_FREE_BYTES are free. A disk that does not answer counts as one with room: the upload itself fails then. */
  async hasRoom(): Promise<boolean> {
    const { storageMinFreeBytes: least } = this.env;
    if (least === 0) return true;
    const free = (await this.space())?.free ?? null;
    const hasRoom = free === null || free >= least;
    if (hasRoom !== this.hadRoom) {
      this.hadRoom = hasRoom;
      if (hasRoom) this.logger.log({ free_bytes: free }, 'storage has room again');
      else this.logger.error({ free_bytes: free, least_bytes: least }, 'storage almost full; uploads refused');
    }
    return hasRoom;
  }
}
