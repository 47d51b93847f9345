import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { NotFoundError, TranscriptionFailedError, TranscriptionNotReadyError } from '../../platform/errors/errors.js';
import { PageFields, pageFields, type PageQuery } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import {
  entityTag,
  type FoundVersions,
  type ServedTranscription,
  type TranscriptionVersion,
} from './transcription-versions.js';

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

/** What is transcribed of a long recording that is still `processing` (D77). */
export class PartialTextView {
  /** Of all parts so far. */
  @ApiProperty({ example: 'Good morning. The north gate is open again, and' })
  text: string;

  /** How many there are. */
  @ApiProperty({ type: 'integer', example: 2 })
  parts: number;

  /** Where in the audio the last one ends, in seconds. */
  @ApiProperty({ example: 31.4 })
  end: number;
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

/** Written out, because `nullable` beside a reference to a schema does not allow null in OpenAPI 3.0. */
const PENDING: ApiPropertyOptions = {
  type: 'object',
  nullable: true,
  selfRequired: true,
  required: ['engine', 'requested_at'],
  properties: {
    engine: { type: 'string', nullable: true, description: 'The engine that was asked for; null: as configured.' },
    requested_at: { type: 'string' },
  },
  example: { engine: 'pocketsphinx', requested_at: '2026-11-22T09:00:00' },
};

export class TranscriptionVersionView {
  @ApiProperty({ example: '019aa5c1-1f20-7d11-8a34-1b5f6c7d8e9f', format: 'uuid' })
  id: string;

  @ApiProperty({ example: RECORDING_ID, format: 'uuid' })
  recording_id: string;

  /** The engine's text. */
  @ApiProperty({ example: 'go forward ten meters' })
  text: string;

  /** The correction, which is served instead; null without one. */
  @ApiProperty({ type: String, nullable: true, example: null })
  corrected_text: string | null;

  @ApiProperty({ minimum: 0, maximum: 1, example: 0.95 })
  confidence: number;

  /** Lower-case English name. */
  @ApiProperty({ example: 'english' })
  language: string;

  /** Name of the engine. */
  @ApiProperty({ example: 'pocketsphinx' })
  provider: string;

  @ApiProperty({ example: 'en-us' })
  model: string;

  @ApiProperty({ type: 'integer', example: 640 })
  processing_duration_ms: number;

  /** Whether it is the version that is served, searched and exported. */
  @ApiProperty({ example: true })
  is_served: boolean;

  @ApiProperty({ example: '2026-11-21T10:15:04' })
  created_at: string;
}

export class TranscriptionVersionPage extends PageFields {
  transcriptions: TranscriptionVersionView[];

  /** The run that is to come, when a transcribed recording is to be transcribed again; else null. */
  @ApiProperty(PENDING)
  pending: { engine: string | null; requested_at: string } | null;
}

function presentVersion(version: TranscriptionVersion): TranscriptionVersionView {
  return {
    id: version.id,
    recording_id: version.recordingId,
    text: version.text,
    corrected_text: version.correctedText,
    confidence: version.confidence,
    language: version.language,
    provider: version.provider,
    model: version.model,
    processing_duration_ms: version.processingDurationMs,
    is_served: version.isServed,
    created_at: resourceTime(version.createdAt),
  };
}

export function presentVersionPage(
  recordingId: string,
  query: PageQuery,
  { found, pending }: FoundVersions,
): TranscriptionVersionPage {
  return {
    transcriptions: found.items.map(presentVersion),
    ...pageFields(`/v1/recordings/${recordingId}/transcriptions`, query, found),
    pending: pending && { engine: pending.engine, requested_at: resourceTime(pending.requestedAt) },
  };
}
