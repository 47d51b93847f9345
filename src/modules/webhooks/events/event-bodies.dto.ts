import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { AUDIO_FORMAT_NAMES, type AudioFormat } from '../../../platform/audio-formats.js';

/** Documents the bodies of events, which `event-payload.ts` writes as text. */

const EXAMPLE_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';
const TAGS = { type: 'object', additionalProperties: { type: 'string' }, example: { ticket: 'T-1042' } } as const;

class EventRecording {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  /** The end user who uploaded it. */
  @ApiProperty({ type: String, nullable: true, example: 'user-4711' })
  identity: string | null;

  @ApiProperty({ example: '2026-11-21T10:15:00Z' })
  created_at: string;

  /** Only if the recording has tags. */
  @ApiPropertyOptional(TAGS)
  custom_tags?: Record<string, string>;
}

class AudibleEventRecording extends EventRecording {
  /** Seconds. */
  @ApiProperty({ example: 11.001 })
  duration: number;

  @ApiProperty({ enum: AUDIO_FORMAT_NAMES, example: 'webm' })
  format: AudioFormat;
}

export class AcceptedEventRecording extends AudibleEventRecording {
  @ApiProperty({ enum: ['processing'] })
  status: 'processing';
}

export class TranscribedEventRecording extends AudibleEventRecording {
  @ApiProperty({ enum: ['transcribed'] })
  status: 'transcribed';

  @ApiProperty({ example: '2026-11-21T10:15:04Z' })
  completed_at: string;
}

export class FailedEventRecording extends EventRecording {
  @ApiProperty({ enum: ['failed'] })
  status: 'failed';
}

export class DeletedEventRecording extends EventRecording {
  @ApiProperty({ enum: ['deleted'] })
  status: 'deleted';
}

class EventBody {
  /** When it happened. */
  @ApiProperty({ example: '2026-11-21T10:15:04Z' })
  timestamp: string;
}

export class RecordingAcceptedBody extends EventBody {
  @ApiProperty({ enum: ['recording.accepted'] })
  event: 'recording.accepted';

  recording: AcceptedEventRecording;
}

export class PartOfTextBody {
  /** Number of the part in the recording, from 0 without a gap. */
  @ApiProperty({ type: 'integer', example: 0 })
  index: number;

  /** Seconds from the start of the recording. */
  @ApiProperty({ example: 0.4 })
  start: number;

  @ApiProperty({ example: 31.2 })
  end: number;

  /** Empty once the recording is deleted. */
  @ApiProperty({ example: 'Good morning. The north gate is open again.' })
  text: string;
}

export class RecordingPartialBody extends EventBody {
  @ApiProperty({ enum: ['recording.partial'] })
  event: 'recording.partial';

  recording: AcceptedEventRecording;

  partial: PartOfTextBody;
}

export class RecordingTranscribedBody extends EventBody {
  @ApiProperty({ enum: ['recording.transcribed'] })
  event: 'recording.transcribed';

  recording: TranscribedEventRecording;
}

export class EventFailure {
  @ApiProperty({ enum: ['TRANSCRIPTION_FAILED'] })
  code: 'TRANSCRIPTION_FAILED';

  /** Why there is no transcription. */
  @ApiProperty({ example: 'The audio cannot be decoded.' })
  message: string;
}

export class RecordingFailedBody extends EventBody {
  @ApiProperty({ enum: ['recording.failed'] })
  event: 'recording.failed';

  recording: FailedEventRecording;

  error: EventFailure;
}

export class CorrectedTranscription {
  /** The version that is served now. */
  @ApiProperty({ enum: ['corrected', 'original'] })
  version: 'corrected' | 'original';
}

export class TranscriptionCorrectedBody extends EventBody {
  @ApiProperty({ enum: ['transcription.corrected'] })
  event: 'transcription.corrected';

  recording: TranscribedEventRecording;

  transcription: CorrectedTranscription;
}

export class RecordingDeletedBody extends EventBody {
  @ApiProperty({ enum: ['recording.deleted'] })
  event: 'recording.deleted';

  recording: DeletedEventRecording;
}

export class TestedWebhook {
  @ApiProperty({ example: '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6', format: 'uuid' })
  id: string;
}

export class WebhookTestBody extends EventBody {
  @ApiProperty({ enum: ['webhook.test'] })
  event: 'webhook.test';

  webhook: TestedWebhook;
}
