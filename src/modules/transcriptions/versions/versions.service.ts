import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import type { PageQuery, PageResult } from '../../../platform/http/page.js';
import { RecordingsService } from '../../recordings/recordings.service.js';
import { selectVersions, type TranscriptVersion } from './versions.queries.js';

export interface FoundVersions {
  found: PageResult<TranscriptVersion>;
  /** The rerun that is to come. */
  pending: { engine: string | null; requestedAt: Date } | null;
}

/** Lists the versions of a transcription (D49). */
@Injectable()
export class VersionsService {
  constructor(
    private readonly database: DatabaseService,
    private readonly recordings: RecordingsService,
  ) {}

  /** @throws NotFoundError */
  async list(accountId: string, recordingId: string, { page, limit }: PageQuery): Promise<FoundVersions> {
    const { rerunAt, requestedEngine } = await this.recordings.get(accountId, recordingId);
    const versions = await selectVersions(this.database, recordingId);
    return {
      found: { items: versions.slice(page * limit, (page + 1) * limit), total: versions.length },
      pending: rerunAt && { engine: requestedEngine, requestedAt: rerunAt },
    };
  }
}
