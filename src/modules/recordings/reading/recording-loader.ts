import DataLoader from 'dataloader';
import type { SqlRunner } from '../../../platform/database/database.service.js';
import type { Recording } from '../recording.entity.js';
import { findRecordings, type RecordingKey } from '../recordings.queries.js';

/** Recordings that one statement looks up. */
const MAX_BATCH = 50;

/**
 * Reads a recording. Reads that are asked for in the same turn of the event loop share a statement, because most of a
 * statement's cost is its round trip; alone, a read waits for nothing. 8 at a time take 87 µs CPU each instead of 170
 * (docs/performance.md, docs/decisions/0008). Held by `recording-loader.spec.ts`.
 */
export class RecordingLoader {
  private readonly loader: DataLoader<RecordingKey, Recording | null>;

  constructor(runner: SqlRunner) {
    this.loader = new DataLoader((keys) => findRecordings(runner, keys), { cache: false, maxBatchSize: MAX_BATCH });
  }

  /** Null when the account has no such recording. */
  async load(accountId: string, id: string): Promise<Recording | null> {
    return await this.loader.load({ accountId, id });
  }
}
