import { InjectQueue } from '@nestjs/bull';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { EventBus } from '../../platform/events/event-bus.js';
import type { JobQueue } from '../../platform/queue/job-queue.js';
import {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  RecordingTranscribed,
} from '../recordings/recordings.events.js';
import { TranscriptSignalsService } from './transcript-signals.service.js';
import { TRANSCRIPTION_QUEUE, type TranscriptionJob } from './transcriptions.queue.js';
import { TranscriptionsService } from './transcriptions.service.js';

@Injectable()
export class TranscriptionsListener implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    @InjectQueue(TRANSCRIPTION_QUEUE) private readonly jobs: JobQueue<TranscriptionJob>,
    private readonly transcriptions: TranscriptionsService,
    private readonly signals: TranscriptSignalsService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.on(
      RecordingAccepted,
      async ({ recording }, tx) => {
        tx.afterCommit(
          () => void this.jobs.enqueue({ recordingId: recording.id }, { deduplicationKey: `run-${recording.run}` }),
        );
      },
      core,
    );
    this.bus.on(RecordingTranscribed, (event, tx) => this.transcriptions.store(tx, event), core);
    for (const ending of [RecordingTranscribed, RecordingFailed, RecordingDeleted]) {
      this.bus.on<RecordingTranscribed | RecordingFailed | RecordingDeleted>(
        ending,
        async ({ recording }, tx) => tx.afterCommit(() => this.signals.publish(recording.id, { type: 'end' })),
        core,
      );
    }
  }
}
