import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { RecordingTranscribed } from '../../src/modules/recordings/recordings.events.js';
import type { Tx } from '../../src/platform/database/database.service.js';
import type { PageResult, PageQuery } from '../../src/platform/http/page.js';
import { KeywordAlert } from './keyword-alert.entity.js';

/** What to listen for; a real module would keep a list for each account. */
const KEYWORDS = new Set(['forward', 'invoice', 'urgent']);

@Injectable()
export class KeywordAlertsService {
  constructor(@InjectRepository(KeywordAlert) private readonly alerts: Repository<KeywordAlert>) {}

  /** Runs in the transaction in which the recording becomes `transcribed`. */
  async note(tx: Tx, { recording, transcript }: RecordingTranscribed): Promise<void> {
    const said = transcript.words.filter(({ word }) => KEYWORDS.has(word.toLowerCase()));
    await tx.manager.insert(
      KeywordAlert,
      said.map(({ word, start }) => ({
        id: uuidv7(),
        accountId: recording.accountId,
        recordingId: recording.id,
        keyword: word.toLowerCase(),
        saidAt: start,
        createdAt: new Date(),
      })),
    );
  }

  async list(accountId: string, { page, limit }: PageQuery): Promise<PageResult<KeywordAlert>> {
    const [items, total] = await this.alerts.findAndCount({
      where: { accountId },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }
}
