import { ApiProperty } from '@nestjs/swagger';
import { NotFoundError, TranscriptionFailedError, TranscriptionNotReadyError } from '../../platform/errors/errors.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import { entityTag, type ServedTranscription } from './transcription-version.js';

const RECORDING_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

/** Why there is no transcription, in the description of the API. */
export const NO_TRANSCRIPTION = [
  new NotFoundError('recording'),
  new TranscriptionNotReadyError(),
  new TranscriptionFailedError('The file contains no audio that can be decoded'),
];

export const VERSION_HEADERS = {
  ETag: {
    description: 'Identifies this version in this form. Send it as If-Match to change the transcription.',
    required: true,
    schema: { type: 'string' as const, example: '"019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f.1"' },
  },
  'Transcription-Version': {
    description: '`corrected` if a person has corrected the text, else `original`.',
    required: true,
    schema: { type: 'string' as const, enum: ['corrected', 'original'] },
  },
};

export class TranscriptionView {
  @ApiProperty({ example: '019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f', format: 'uuid' })
  id: string;

  @ApiProperty({ example: RECORDING_ID, format: 'uuid' })
  recording_id: string;

  @ApiProperty({ example: '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d', format: 'uuid' })
  tenant_id: string;

  /** Empty when nobody spoke. */
  @ApiProperty({ example: 'go forward ten meters' })
  text: string;

  @ApiProperty({ minimum: 0, maximum: 1, example: 0.95 })
  confidence: number;

  /** Lower-case English name. */
  @ApiProperty({ example: 'english' })
  language: string;

  @ApiProperty({ example: 'pocketsphinx' })
  provider: string;

  @ApiProperty({ example: 'en-us' })
  model: string;

  @ApiProperty({ type: 'integer', example: 640 })
  processing_duration_ms: number;

  /**
   * JSON text of `[{"word","start","end","confidence"}]`; times in seconds from the start. After an upload with
   * `channels=separate` each word of a recording of two channels also has its `channel`, 0 or 1.
   */
  @ApiProperty({ example: '[{"word":"go","start":0.46,"end":0.63,"confidence":0.97}]' })
  words: string;

  @ApiProperty({ example: '2026-11-21T10:15:04' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:04' })
  updated_at: string;

  @ApiProperty({ example: `/v1/recordings/${RECORDING_ID}/transcription` })
  uri: string;
}

/** As a part of its recording: with what the headers say of it at its own path. */
export class IncludedTranscriptionView extends TranscriptionView {
  /** Send it as If-Match to change the transcription. */
  @ApiProperty({ example: '"019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f.1"' })
  etag: string;

  /** `corrected` if a person has corrected the text. */
  @ApiProperty({ enum: ['corrected', 'original'] })
  version: 'corrected' | 'original';
}

export function presentIncludedTranscription(served: ServedTranscription): IncludedTranscriptionView {
  return { ...presentTranscription(served), etag: entityTag(served, 'json'), version: served.version };
}

export function presentTranscription({
  transcription,
  text,
  words,
  updatedAt,
}: ServedTranscription): TranscriptionView {
  return {
    id: transcription.id,
    recording_id: transcription.recordingId,
    tenant_id: transcription.accountId,
    text,
    confidence: transcription.confidence,
    language: transcription.language,
    provider: transcription.provider,
    model: transcription.model,
    processing_duration_ms: transcription.processingDurationMs,
    words,
    created_at: resourceTime(transcription.createdAt),
    updated_at: resourceTime(updatedAt),
    uri: `/v1/recordings/${transcription.recordingId}/transcription`,
  };
}
