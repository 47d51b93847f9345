import { ApiExtraModels, ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { AUDIO_FORMAT_NAMES, type AudioFormat } from '../../platform/audio-formats.js';
import { type PageResult, PageFields, pageFields } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import type { Inclusion, InclusionValue } from './recording-inclusions.service.js';
import type { ListedRecording } from './recording-page.queries.js';
import { inclusionsOf, type ListRecordingsQuery } from './recordings.dto.js';
import type { SearchPage } from './search/recording-search.service.js';
import { orderedTags } from './upload/custom-tags.js';
import {
  type Recording,
  RECORDING_STATUSES,
  type RecordingFeatures,
  type RecordingStatus,
  UPLOAD_SOURCES,
  type UploadSource,
} from './recording.entity.js';

const EXAMPLE_ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';
const EXAMPLE_TENANT = '019aa5c0-4a7e-7cc4-9d5e-3f1f0a6f1c2d';

/** Written out, because `nullable` beside a reference to a schema does not allow null in OpenAPI 3.0. */
const FEATURES: ApiPropertyOptions = {
  type: 'object',
  nullable: true,
  selfRequired: true,
  required: ['speech_seconds', 'no_speech'],
  properties: {
    speech_seconds: { type: 'number', nullable: true, description: 'Seconds of speech; null when unknown.' },
    no_speech: { type: 'boolean', description: 'True when nobody speaks.' },
    vocabulary: {
      type: 'array',
      items: { type: 'string' },
      description: 'Only if the upload or the account has a vocabulary: the terms that the engine was given.',
    },
    languages: {
      type: 'array',
      items: {
        type: 'object',
        required: ['language', 'confidence', 'seconds'],
        properties: {
          language: { type: 'string', description: 'Lower-case English name.' },
          confidence: { type: 'number', description: 'That of the words in this language, from 0 to 1.' },
          seconds: { type: 'number', description: 'Length of the audio that it was heard in.' },
        },
      },
      description: 'Only if the upload named `languages`: those that were heard, most of it first.',
    },
    task: {
      type: 'string',
      enum: ['translate'],
      description: 'Only of audio sent to `/v1/audio/translations`: the text is in English.',
    },
    punctuation: {
      type: 'string',
      enum: ['added'],
      description: 'Only where the service has added capitals and full stops, because the engine gives none.',
    },
    channels: {
      type: 'integer',
      description:
        'Number of channels that were transcribed separately. Only after an upload with `channels=separate`.',
    },
    speakers: {
      type: 'object',
      nullable: true,
      required: ['count', 'model'],
      properties: {
        count: { type: 'integer', description: '0 when nobody speaks.' },
        model: { type: 'string', description: 'What told the speakers apart; `channels`: each is a channel.' },
      },
      description: 'Only if the upload or the account asked for `speakers`. Null when they could not be found.',
    },
    speakers_problem: { type: 'string', description: 'Only where `speakers` is null: why.' },
  },
  example: { speech_seconds: 9.7, no_speech: false },
};

class RecordingFields {
  @ApiProperty({ example: EXAMPLE_ID, format: 'uuid' })
  id: string;

  @ApiProperty({ example: EXAMPLE_TENANT, format: 'uuid' })
  tenant_id: string;

  /** The end user named by the access token of the upload. */
  @ApiProperty({ type: String, nullable: true, example: 'user-4711' })
  user_id: string | null;

  @ApiProperty({ example: 'note.webm' })
  original_filename: string;

  @ApiProperty({ example: `${EXAMPLE_TENANT}/2026/11/${EXAMPLE_ID}.webm` })
  s3_key: string;

  @ApiProperty({ example: 'voice-notes' })
  s3_bucket: string;

  /** Seconds. */
  @ApiProperty({ example: 11.001 })
  duration_seconds: number;

  @ApiProperty({ type: 'integer', example: 88_211 })
  file_size_bytes: number;

  /** Container, recognised by its content. */
  @ApiProperty({ enum: AUDIO_FORMAT_NAMES })
  audio_format: AudioFormat;

  /** Hz. */
  @ApiProperty({ type: 'integer', nullable: true, example: 48_000 })
  sample_rate: number | null;

  @ApiProperty({ type: 'integer', nullable: true, example: 1 })
  channels: number | null;

  /** Bits a second. */
  @ApiProperty({ type: 'integer', nullable: true, example: 64_000 })
  bit_rate: number | null;

  @ApiProperty({ type: String, nullable: true, example: 'opus' })
  audio_codec: string | null;

  @ApiProperty({ enum: RECORDING_STATUSES, example: 'transcribed' })
  status: RecordingStatus;

  /** Facts found in the audio; null until the recording is transcribed. */
  @ApiProperty(FEATURES)
  features: RecordingFeatures | null;

  @ApiProperty({ type: String, nullable: true, example: '203.0.113.9' })
  client_ip: string | null;

  @ApiProperty({ type: String, nullable: true, example: 'curl/8.5.0' })
  user_agent: string | null;

  @ApiProperty({ enum: UPLOAD_SOURCES })
  upload_source: UploadSource;

  @ApiProperty({
    type: 'object',
    nullable: true,
    additionalProperties: { type: 'string' },
    example: { ticket: 'T-1042' },
  })
  custom_tags: object | null;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  created_at: string;

  @ApiProperty({ example: '2026-11-21T10:15:04' })
  updated_at: string;

  /** When the terminal state was reached. */
  @ApiProperty({ type: String, nullable: true, example: '2026-11-21T10:15:04' })
  processed_at: string | null;

  @ApiProperty({ example: `/v1/recordings/${EXAMPLE_ID}` })
  uri: string;
}

class SubresourceUrisView {
  @ApiProperty({ example: `/v1/recordings/${EXAMPLE_ID}/transcription` })
  transcription: string;
}

export class SingleRecordingView extends RecordingFields {
  subresource_uris: SubresourceUrisView;
}

/** A resource that may be missing. `nullable` beside a reference to a schema does not allow null in OpenAPI 3.0. */
const eitherOrNull = (schema: string) => [
  { $ref: `#/components/schemas/${schema}` },
  { type: 'object', nullable: true, enum: [null] },
];
const orNull = (schema: string): ApiPropertyOptions => ({
  required: false,
  example: null,
  oneOf: eitherOrNull(schema),
});

class RecordingHoldView {
  @ApiProperty({ example: 'Complaint C-1042' })
  reason: string;

  @ApiProperty({ example: '2026-11-21T10:15:00' })
  held_at: string;
}

/** When something of a recording is deleted (D78). */
@ApiExtraModels(RecordingHoldView)
class RecordingRetentionView {
  /** When the audio is deleted, if it is there; null: never, or as `delete_audio_after` says. */
  @ApiProperty({ type: String, nullable: true, example: '2026-12-21T10:15:00' })
  audio_expires_at: string | null;

  /** When the audio was deleted. */
  @ApiProperty({ type: String, nullable: true, example: null })
  audio_deleted_at: string | null;

  /** When the whole recording is deleted; null: never. */
  @ApiProperty({ type: String, nullable: true, example: null })
  text_expires_at: string | null;

  /** `transcribed`: the audio is deleted once the recording is transcribed. */
  @ApiProperty({ type: String, nullable: true, enum: ['transcribed', null], example: null })
  delete_audio_after: 'transcribed' | null;

  /** While it is on hold, nothing is deleted. */
  @ApiProperty({ example: null, oneOf: eitherOrNull('RecordingHoldView') })
  hold: unknown;
}

/** What was asked for with `include`, and only that. */
export class RecordingDetailsView extends SingleRecordingView {
  /** With `include=transcription`: as at its own path, with its `etag` and `version`. Null where there is none. */
  @ApiProperty(orNull('IncludedTranscriptionView'))
  transcription?: unknown;

  /** With `include=transcription`: why the recording failed; null if it did not. */
  @ApiProperty({ required: false, type: String, nullable: true, example: null })
  failure_reason?: string | null;

  /** With `include=waveform`: as at its own path. Null where there is none. */
  @ApiProperty(orNull('WaveformView'))
  waveform?: unknown;

  /**
   * With `include=waiting_for`: `engine` while the recording waits for an engine that no running worker has, as it may
   * before the operator has started one; else null.
   */
  @ApiProperty({ required: false, type: String, nullable: true, enum: ['engine', null], example: null })
  waiting_for?: unknown;

  /** With `include=retention`: when its audio and its text are deleted, and whether it is on hold. */
  @ApiProperty({ required: false, type: RecordingRetentionView })
  retention?: unknown;

  /** With `include=partial`: what is transcribed of a long recording so far. Null before the first part and at the end. */
  @ApiProperty(orNull('PartialTextView'))
  partial?: unknown;

  /** With `include=snippet`: the beginning of the text, up to about 200 characters; empty without a text. */
  @ApiProperty({
    type: String,
    required: false,
    example: 'The delivery to the north gate is late again, so please call…',
  })
  snippet?: unknown;

  /** With `include=title`: what a client calls it; the name of its file unless it was given a title. */
  @ApiProperty({ example: 'Call with the north gate' })
  title?: string;
}

/** After a change. */
export class TitledRecordingView extends SingleRecordingView {
  /** The name of the file, unless the recording was given a title. */
  @ApiProperty({ example: 'Call with the north gate' })
  title: string;
}

export class CreatedRecordingView extends SingleRecordingView {
  @ApiProperty({ enum: ['RECORDING_CREATED'] })
  code: 'RECORDING_CREATED';
}

/** A recording in a list. */
export class RecordingView extends RecordingFields {
  /**
   * Only in a list with `q`: the part of the text around the first match, up to about 200 characters. With
   * `include=snippet` and no `q` it is the beginning of the text; empty without a text.
   * @example …and the delivery to the north gate is late again, so please call…
   */
  snippet?: string;

  /**
   * Only with `include=title`: the name of the file, unless the recording was given a title.
   * @example Call with the north gate
   */
  title?: string;
}

export class RecordingPage extends PageFields {
  recordings: RecordingView[];

  /** Only in a list with `q` or tags: false when there may be more results than `total`, which ends at 10,000. */
  total_is_exact?: boolean;
}

export const recordingUri = (id: string): string => `/v1/recordings/${id}`;

function presentRecording(recording: ListedRecording): RecordingFields {
  return {
    id: recording.id,
    tenant_id: recording.accountId,
    user_id: recording.userId,
    original_filename: recording.originalFilename,
    s3_key: recording.objectKey,
    s3_bucket: recording.bucket,
    duration_seconds: recording.durationMs / 1000,
    file_size_bytes: recording.fileSizeBytes,
    audio_format: recording.audioFormat,
    sample_rate: recording.sampleRate,
    channels: recording.channels,
    bit_rate: recording.bitRate,
    audio_codec: recording.audioCodec,
    status: recording.status,
    features: recording.features,
    client_ip: recording.clientIp,
    user_agent: recording.userAgent,
    upload_source: recording.uploadSource,
    custom_tags: orderedTags(recording.customTags),
    created_at: resourceTime(recording.createdAt),
    updated_at: resourceTime(recording.updatedAt),
    processed_at: recording.processedAt && resourceTime(recording.processedAt),
    uri: recordingUri(recording.id),
  };
}

export function presentSingleRecording(recording: Recording): SingleRecordingView {
  const view = presentRecording(recording);
  return Object.assign(view, { subresource_uris: { transcription: `${view.uri}/transcription` } });
}

const titleOf = ({ title, originalFilename }: Pick<Recording, 'title' | 'originalFilename'>): string =>
  title ?? originalFilename;

export function presentTitledRecording(recording: Recording): TitledRecordingView {
  return Object.assign(presentSingleRecording(recording), { title: titleOf(recording) });
}

/** The single recording, with the parts that were asked for. */
export function presentRecordingDetails(
  recording: Recording,
  parts: Partial<Record<Inclusion, InclusionValue>>,
): RecordingDetailsView {
  const failure = 'transcription' in parts ? { failure_reason: recording.failureReason } : {};
  const title = 'title' in parts ? { title: titleOf(recording) } : {};
  return Object.assign(presentSingleRecording(recording), parts, failure, title);
}

export function presentCreatedRecording(recording: Recording): CreatedRecordingView {
  return Object.assign(presentSingleRecording(recording), { code: 'RECORDING_CREATED' as const });
}

/** A page with the additional keys of a search (D43). */
export function presentSearchPage(query: ListRecordingsQuery, found: SearchPage): RecordingPage {
  return { ...presentRecordingPage(query, found), total_is_exact: found.totalIsExact };
}

export function presentRecordingPage(
  query: ListRecordingsQuery,
  found: PageResult<ListedRecording & { snippet?: string }>,
): RecordingPage {
  const recordings = found.items.map((recording) => presentListed(recording, query));
  return { recordings, ...pageFields('/v1/recordings', query, found) };
}

function presentListed(recording: ListedRecording & { snippet?: string }, query: ListRecordingsQuery): RecordingView {
  const snippet = 'snippet' in recording ? { snippet: recording.snippet } : {};
  const title = inclusionsOf(query).includes('title') ? { title: titleOf(recording) } : {};
  return Object.assign(presentRecording(recording), snippet, title);
}
