import { Injectable, type OnModuleInit } from '@nestjs/common';
import { EventBus } from '../../platform/events/event-bus.js';
import { RecordingAccepted, RecordingTranscribed } from '../recordings/recordings.events.js';
import { TranscriptionJobsService } from './transcription-jobs.service.js';
import { TranscriptionsService } from './transcriptions.service.js';

@Injectable()
export class TranscriptionsListener implements OnModuleInit {
  constructor(
    private readonly bus: EventBus,
    private readonly jobs: TranscriptionJobsService,
    private readonly transcriptions: TranscriptionsService,
  ) {}

  onModuleInit(): void {
    const core = { mustSucceed: true };
    this.bus.on(
      RecordingAccepted,
      async ({ recording }, tx) => {
        tx.afterCommit(() => void this.jobs.ring({ recordingId: recording.id }, `run-${recording.run}`));
      },
      core,
    );
    this.bus.on(RecordingTranscribed, (event, tx) => this.transcriptions.store(tx, event), core);
  }
}
