import { InjectQueue } from '@nestjs/bull';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.service.js';
import { EventBus } from '../../platform/database/event-bus.js';
import { traces } from '../../platform/observability/traces/traces.js';
import type { JobQueue } from '../../platform/queue/job-queue.js';
import {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  RecordingFetched,
  type RecordingSnapshot,
  RecordingTranscribed,
  RerunRequested,
} from '../recordings/recordings.events.js';
import { PartialTextsService } from './partial-texts.service.js';
import { RetranscriptionsService } from './retranscriptions.service.js';
import { TranscriptSignalsService } from './transcript-signals.service.js';
import { TranscriptionsService } from './transcriptions.service.js';

export const TRANSCRIPTION_QUEUE = 'transcriptions';

/** Names the recording to look at; its row says what is to be done. */
export type TranscriptionJob = { recordingId: string };

/** The work that its job announces, in the trace of its recording. */
export const stepOf = (kind: 'run' | 'fetched' | 'rerun'): string => `transcribe ${kind}`;

@Injectable()
export class TranscriptionsListener implements OnModuleInit {
  private readonly logger = new Logger(TranscriptionsListener.name);

  constructor(
    private readonly bus: EventBus,
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly jobs: JobQueue<TranscriptionJob>,
    private readonly transcriptions: TranscriptionsService,
    private readonly signals: TranscriptSignalsService,
    private readonly retranscriptions: RetranscriptionsService,
    private readonly partials: PartialTextsService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.on(RecordingAccepted, ({ recording }, tx) => this.enqueue(tx, recording, 'run'), core);
    this.bus.on(RecordingFetched, ({ recording }, tx) => this.enqueue(tx, recording, 'fetched'), core);
    this.bus.on(RerunRequested, ({ recording }, tx) => this.enqueue(tx, recording, 'rerun'), core);
    this.bus.on(RecordingTranscribed, (event, tx) => this.transcriptions.store(tx, event), core);
    this.bus.on(RecordingFailed, (event, tx) => this.countFailure(tx, event), core);
    for (const ending of [RecordingTranscribed, RecordingFailed]) {
      this.bus.on<RecordingTranscribed | RecordingFailed>(
        ending,
        ({ recording }, tx) => this.partials.remove(tx, recording.id),
        core,
      );
    }
    for (const ending of [RecordingTranscribed, RecordingFailed, RecordingDeleted]) {
      this.bus.on<RecordingTranscribed | RecordingFailed | RecordingDeleted>(
        ending,
        async ({ recording }, tx) => tx.afterCommit(() => this.signals.publish(recording.id, { type: 'end' })),
        core,
      );
    }
  }

  /** For the operator; no event says it. */
  private async countFailure(tx: Tx, { recording, reason, rerun }: RecordingFailed): Promise<void> {
    if (rerun === null || rerun === 'requested') return;
    this.logger.warn({ recording_id: recording.id, reason }, 'recording not transcribed again');
    await this.retranscriptions.countFailure(tx, recording.accountId);
  }

  private async enqueue(
    tx: Tx,
    { id: recordingId, accountId, run }: RecordingSnapshot,
    kind: 'run' | 'fetched' | 'rerun',
  ): Promise<void> {
    const attributes = { 'voice_notes.account.id': accountId, 'voice_notes.recording.id': recordingId };
    const options = { attributes, begins: kind === 'run' };
    const enqueue = () => this.jobs.enqueue({ recordingId }, { deduplicationKey: `${kind}-${run}` });
    const work = { id: recordingId, run, step: stepOf(kind) };
    tx.afterCommit(() => void traces.produce(work, 'enqueue transcription', options, enqueue));
  }
}
