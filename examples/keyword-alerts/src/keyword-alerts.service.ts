import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { PageResult, RecordingTranscribed, Tx } from 'voice-note-transcription-service';
import { KeywordAlert } from './keyword-alert.entity.js';
import type { ListKeywordAlertsQuery } from './keyword-alerts.dto.js';
import { KEYWORDS } from './keywords.js';

@Injectable()
export class KeywordAlertsService {
  constructor(@InjectRepository(KeywordAlert) private readonly alerts: Repository<KeywordAlert>) {}

  /** Stores an alert for each keyword that was said. Those of an earlier transcription are replaced. */
  async record(tx: Tx, { recording, transcript, rerun }: RecordingTranscribed): Promise<KeywordAlert[]> {
    if (rerun !== null) await tx.manager.delete(KeywordAlert, { recordingId: recording.id });
    const said = transcript.words.filter(({ word }) => KEYWORDS.includes(word.toLowerCase()));
    const alerts = said.map(({ word, start }) => ({
      id: uuidv7(),
      accountId: recording.accountId,
      recordingId: recording.id,
      keyword: word.toLowerCase(),
      saidAt: start,
      createdAt: new Date(),
    }));
    await tx.manager.insert(KeywordAlert, alerts);
    return alerts;
  }

  async list(accountId: string, { page, limit, keyword }: ListKeywordAlertsQuery): Promise<PageResult<KeywordAlert>> {
    const [items, total] = await this.alerts.findAndCount({
      where: { accountId, ...(keyword && { keyword }) },
      order: { createdAt: 'DESC', id: 'DESC' },
      skip: page * limit,
      take: limit,
    });
    return { items, total };
  }
}
