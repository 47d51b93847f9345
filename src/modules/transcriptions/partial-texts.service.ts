import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { EventBus } from '../../platform/database/event-bus.js';
import type { Lease } from '../recordings/leases/recording-leases.service.js';
import { RecordingInclusionsService } from '../recordings/recording-inclusions.service.js';
import { type PartOfText, RecordingPartlyTranscribed } from '../recordings/recordings.events.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { TranscriptionPartial } from './transcription-partial.entity.js';

/** How far the text of a recording is written. */
export interface WrittenText {
  parts: number;
  /** Seconds. */
  end: number;
}

/** Keeps what is transcribed of a long note until the whole is there, with an event for each part (D77). */
@Injectable()
export class PartialTextsService implements OnModuleInit {
  constructor(
    @InjectRepository(TranscriptionPartial) private readonly partials: Repository<TranscriptionPartial>,
    private readonly database: DatabaseService,
    private readonly bus: EventBus,
    private readonly recordings: RecordingsService,
    private readonly inclusions: RecordingInclusionsService,
  ) {}

  onModuleInit(): void {
    this.inclusions.register('partial', async ({ id }) => {
      const parts = await this.partials.find({ where: { recordingId: id }, order: { index: 'ASC' } });
      const last = parts.at(-1);
      return last
        ? { text: parts.map(({ text }) => text).join(' '), parts: parts.length, end: last.endMs / 1000 }
        : null;
    });
  }

  /** By this attempt and those before it. */
  async written(recordingId: string): Promise<WrittenText> {
    const last = await this.partials.findOne({ where: { recordingId }, order: { index: 'DESC' } });
    return last ? { parts: last.index + 1, end: last.endMs / 1000 } : { parts: 0, end: 0 };
  }

  /**
   * Writes the part and its event. @returns false when the lease is lost, or the part with this index is written.
   * @throws NotFoundError when the recording is deleted
   */
  async write(
    { id, accountId, leaseToken }: Pick<Lease, 'id' | 'accountId' | 'leaseToken'>,
    part: PartOfText,
  ): Promise<boolean> {
    return await this.database.transact(async (tx) => {
      const recording = await this.recordings.lock(tx, accountId, id);
      if (recording.leaseToken !== leaseToken || recording.status !== 'processing') return false;
      if (!(await insertPart(tx, id, part))) return false;
      await this.bus.emit(new RecordingPartlyTranscribed(recording, part), tx);
      return true;
    });
  }

  /** When the recording has ended. */
  async remove(tx: Tx, recordingId: string): Promise<void> {
    await tx.manager.delete(TranscriptionPartial, { recordingId });
  }
}

/** SQL, because of the conflict. */
async function insertPart(tx: Tx, recordingId: string, { index, start, end, text }: PartOfText): Promise<boolean> {
  const inserted = await tx.query(
    `INSERT INTO transcription_partials (recording_id, index, start_ms, end_ms, text) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING RETURNING index`,
    [recordingId, index, Math.round(start * 1000), Math.round(end * 1000), text],
  );
  return inserted.length > 0;
}
