import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.service.js';
import { selectTagged, writeDocument } from './search-documents.queries.js';
import { type TaggedRecording, textTerms } from './search-terms.js';

/** What is searched of the recordings. */
@Injectable()
export class RecordingSearchService {
  /**
   * Replaces the text of a recording, in the transaction that changes the text. Writes nothing when the account has no
   * such recording.
   */
  async replace(tx: Tx, accountId: string, recordingId: string, text: string): Promise<void> {
    const recording = await selectTagged(tx, accountId, recordingId);
    if (recording) await this.write(tx, recording, text);
  }

  /** As `replace`, of a recording that the caller has read. */
  async write(tx: Tx, recording: TaggedRecording, text: string): Promise<void> {
    await writeDocument(tx, recording.id, { ...textTerms(recording, text), text });
  }
}
