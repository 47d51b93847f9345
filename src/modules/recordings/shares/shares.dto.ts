import { ApiProperty } from '@nestjs/swagger';
import { IsOptional } from 'class-validator';
import { AUDIO_FORMAT_NAMES, type AudioFormat } from '../../../platform/audio-formats.js';
import { IsBoolean, IsFutureInstant, IsOmittable, IsText } from '../../../platform/http/input/rules.js';
import { PageFields, pageFields, type PageQuery, type PageResult } from '../../../platform/http/page.js';
import { creationTime, resourceTime } from '../../../platform/http/timestamps.js';
import type { Recording } from '../recording.entity.js';
import type { Share } from './share.entity.js';
import type { SignedAudio } from '../audio-download/audio-urls.service.js';

export class CreateShareDto {
  /**
   * Time at which the link ends, as ISO 8601 with a zone. Without it the link works until it is deleted.
   * @example 2030-01-31T12:00:00Z
   */
  @IsOptional()
  @IsFutureInstant()
  expires_at?: string | null;

  /**
   * A password, without which the link shows nothing.
   * @example correct horse
   */
  @IsOptional()
  @IsText(8, 200)
  password?: string | null;

  /** `true` lets the audio be heard as well. */
  @IsOmittable()
  @IsBoolean()
  audio: boolean = false;
}

export class OpenShareDto {
  /**
   * What follows `#` in the link.
   * @example vnsh_Zk3wq1xR8nT5vB2mC7dF0gH4jK6lP9sQaEuYiOoXzNc
   */
  @IsText(1, 100)
  token: string;

  /**
   * The password, if the link has one.
   * @example correct horse
   */
  @IsOptional()
  @IsText(1, 200)
  password?: string | null;
}

export class SharedAudioQuery {
  /**
   * Signature of the URL.
   * @example eyJhbGciOiJIUzI1NiJ9
   */
  @IsText(1, 1000)
  token: string;
}

const EXAMPLE_ID = '019aa5c4-6c7d-7e8f-9a0b-1c2d3e4f5a6b';
const RECORDING_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

export class ShareView {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: RECORDING_ID, format: 'uuid' })
  recording_id: string;

  /** Whether the audio can be heard. */
  @ApiProperty({ example: true })
  audio: boolean;

  @ApiProperty({ example: false })
  has_password: boolean;

  @ApiProperty({ type: String, nullable: true, example: null })
  expires_at: string | null;

  /** How often it was opened. */
  @ApiProperty({ type: 'integer', example: 3 })
  opened_count: number;

  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T10:15:00' })
  last_opened_at: string | null;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;
}

/** The only answer that ever holds the link. */
export class CreatedShareView extends ShareView {
  /** Path of the page, below the address of this service. */
  @ApiProperty({ example: '/shared#vnsh_Zk3wq1xR8nT5vB2mC7dF0gH4jK6lP9sQaEuYiOoXzNc' })
  url: string;

  @ApiProperty({ enum: ['SHARE_CREATED'] })
  code: 'SHARE_CREATED';
}

export class SharePage extends PageFields {
  shares: ShareView[];
}

/** A recording as people with a link see it. */
export class SharedRecordingView {
  /** Null without one. */
  @ApiProperty({ type: String, nullable: true, example: 'Call with Ada' })
  title: string | null;

  @ApiProperty({ example: 'note.webm' })
  original_filename: string;

  @ApiProperty({ enum: AUDIO_FORMAT_NAMES, example: 'webm' })
  audio_format: AudioFormat;

  @ApiProperty({ enum: ['processing', 'transcribed', 'failed'] })
  status: string;

  @ApiProperty({ example: 2.8 })
  duration_seconds: number;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  /** Null unless it is transcribed. */
  @ApiProperty({ type: String, nullable: true, example: 'go forward ten meters' })
  text: string | null;

  /** JSON text, as transcriptions have it. */
  @ApiProperty({ type: String, nullable: true, example: '[{"word":"go","start":0.46,"end":0.63,"confidence":0.97}]' })
  words: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'english' })
  language: string | null;

  /** Names of speakers by their labels. */
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' }, example: { A: 'Ada' } })
  speaker_names: Record<string, string>;

  /** Path of the audio, below the address of this service; null if the link does not include it, or it was deleted. */
  @ApiProperty({ type: String, nullable: true, example: '/v1/shares/audio?token=eyJhbGciOiJIUzI1NiJ9' })
  audio_url: string | null;

  /** When `audio_url` ends. */
  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T22:15:00.000Z' })
  audio_url_expires_at: string | null;
}

function presentShare(share: Share): ShareView {
  return {
    id: share.id,
    recording_id: share.recordingId,
    audio: share.includesAudio,
    has_password: share.passwordHash !== null,
    expires_at: share.expiresAt && resourceTime(share.expiresAt),
    opened_count: share.openedCount,
    last_opened_at: share.lastOpenedAt && resourceTime(share.lastOpenedAt),
    created_at: resourceTime(share.createdAt),
  };
}

export function presentCreatedShare(share: Share, token: string): CreatedShareView {
  return { ...presentShare(share), url: `/shared#${token}`, code: 'SHARE_CREATED' };
}

export function presentSharePage(recordingId: string, query: PageQuery, found: PageResult<Share>): SharePage {
  const path = `/v1/recordings/${recordingId}/shares`;
  return { shares: found.items.map((share) => presentShare(share)), ...pageFields(path, query, found) };
}

/** What is served of a transcription. */
export interface SharedText {
  text: string;
  words: string;
  language: string;
}

export function presentSharedRecording(
  recording: Recording,
  transcription: SharedText | null,
  audio: SignedAudio | null,
): SharedRecordingView {
  return {
    title: recording.title,
    original_filename: recording.originalFilename,
    audio_format: recording.audioFormat,
    status: recording.status,
    duration_seconds: recording.durationMs / 1000,
    created_at: resourceTime(recording.createdAt),
    text: transcription?.text ?? null,
    words: transcription?.words ?? null,
    language: transcription?.language ?? null,
    speaker_names: recording.speakerNames ?? {},
    audio_url: audio && `/v1/shares/audio?token=${audio.token}`,
    audio_url_expires_at: audio && creationTime(audio.expiresAt),
  };
}
