import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { PageFields, pageFields, type PageQuery } from '../../../platform/http/page.js';
import { resourceTime } from '../../../platform/http/timestamps.js';
import type { FoundVersions } from './versions.service.js';
import type { TranscriptVersion } from './versions.queries.js';

const RECORDING_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

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

function presentVersion(version: TranscriptVersion): TranscriptionVersionView {
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
