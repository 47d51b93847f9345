import { Injectable } from '@nestjs/common';
import { DatabaseService } from '../../../platform/database/database.service.js';
import { selectLiveWords, type StoredWords } from './live-words.queries.js';

/** The words of live recordings that are final: what a reader has missed of the signals. */
@Injectable()
export class LiveWordsService {
  constructor(private readonly database: DatabaseService) {}

  /** @param fromItem the first utterance that is wanted */
  async read(recordingId: string, fromItem: number): Promise<StoredWords> {
    return await selectLiveWords(this.database, recordingId, fromItem);
  }
}
