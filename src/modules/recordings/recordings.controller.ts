import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiAcceptedResponse,
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiHeader,
  type ApiHeaderOptions,
  ApiQuery,
  ApiTags,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AllowAccessToken, AllowEndUser, CurrentPrincipal, RequireScope } from '../../access/access.decorators.js';
import { limitToEndUser } from '../../access/check-access.js';
import type { Principal } from '../../access/principal.js';
import { AUDIO_FORMAT_LIST, MAX_FILE_BYTES } from '../../platform/audio-formats.js';
import {
  ConcurrentUploadsError,
  InvalidRequestError,
  NotFoundError,
  PayloadTooLargeError,
  QuotaExceededError,
} from '../../platform/errors/errors.js';
import { checkDays } from '../../platform/http/page.js';
import { MAX_LANGUAGES } from '../../platform/languages.js';
import { MAX_SPEAKERS, SPEAKERS_PATTERN, SPEAKERS_SCHEMAS } from '../../platform/speakers.js';
import { MAX_TERM_LENGTH, MAX_TERMS } from '../../platform/vocabulary.js';
import { ApiErrors, ApiJsonBody, together } from '../../platform/http/openapi.js';
import { MAX_URL_CHARACTERS, OUTGOING_URL_PATTERN } from '../../platform/http/outgoing/address-rules.js';
import { NoQuery } from '../../platform/http/input/request-validation.pipe.js';
import { MAX_RETAIN_DAYS } from './retention/retention-policy.js';
import {
  CHANNEL_MODES,
  KEY_PAIR_SOURCES,
  MAX_TITLE_LENGTH,
  RETAIN_DAYS_PATTERN,
  readUploadSource,
  UploadFields,
} from './upload/upload-fields.js';
import {
  checkInstants,
  checkOrder,
  GetRecordingQuery,
  inclusionsOf,
  isSearch,
  labelsOf,
  ListRecordingsQuery,
  TAG_FILTERS,
  UpdateRecordingDto,
} from './recordings.dto.js';
import { RecordingInclusionsService } from './recording-inclusions.service.js';
import { notAnUpload } from './upload/upload-form.js';
import { UploadRequestsService } from './upload/upload-requests.service.js';
import {
  CreatedRecordingView,
  presentCreatedRecording,
  presentSearchPage,
  presentRecordingDetails,
  presentRecordingPage,
  presentSingleRecording,
  presentTitledRecording,
  RecordingDetailsView,
  RecordingPage,
  recordingUri,
  SingleRecordingView,
  TitledRecordingView,
} from './recording.presenter.js';
import { idempotencyKeyReused } from './upload/upload.service.js';
import { RecordingSearchService } from './search/recording-search.service.js';
import { audioDeleted, linkForgotten, notFailed, onHold, RecordingsService } from './recordings.service.js';

const TEXT_FIELDS = {
  title: {
    type: 'string',
    minLength: 1,
    maxLength: MAX_TITLE_LENGTH,
    description: 'What to call the recording. By default as its file.',
    example: 'Call with the north gate',
  },
  language: {
    type: 'string',
    description: 'English name of the language spoken. Detected or assumed by the engine when omitted.',
    example: 'english',
  },
  channels: {
    type: 'string',
    enum: [...CHANNEL_MODES],
    default: 'mixed',
    description:
      '`separate` transcribes each of two channels on its own, as of a telephone call: words then have a `channel`.',
  },
  callback_url: {
    type: 'string',
    maxLength: MAX_URL_CHARACTERS,
    pattern: OUTGOING_URL_PATTERN,
    description:
      'Receives the events `recording.transcribed` and `recording.failed` of this recording, signed with ' +
      '`callback_secret` as those of a webhook. Needs `callback_secret`.',
    example: 'https://hooks.example.com/voice-notes',
  },
  delete_audio_after: {
    type: 'string',
    enum: ['transcribed'],
    description: '`transcribed` deletes the audio once the recording is transcribed.',
  },
  callback_secret: {
    type: 'string',
    minLength: 16,
    maxLength: 256,
    description: 'Secret that signs the requests to `callback_url`.',
    example: 'a-secret-of-at-least-16-characters',
  },
};

const RETAIN_AUDIO_DAYS = {
  description: `Days after which the audio is deleted, 1 to ${MAX_RETAIN_DAYS}. By default as the account says.`,
};
const RETAIN_TEXT_DAYS = {
  description: `Days after which the whole recording is deleted, 1 to ${MAX_RETAIN_DAYS}. By default as the account says.`,
};
const SPEAKERS =
  `Speakers to tell apart: a number up to ${MAX_SPEAKERS}, or \`auto\` for as many as there are. Words then have a ` +
  '`speaker`. By default as the account says.';
const DIARIZE = '`true` is `speakers=auto`; `false` tells no speakers apart, whatever the account says.';
const VOCABULARY = 'Names and words to expect, the most important first';

const UPLOAD_FORM = {
  schema: {
    type: 'object',
    required: ['file'],
    not: together('language', 'languages'),
    properties: {
      file: {
        type: 'string',
        format: 'binary',
        description: `Audio in ${AUDIO_FORMAT_LIST}, at most 25 MB (${MAX_FILE_BYTES.toLocaleString('en-US')} bytes).`,
      },
      custom_tags: {
        type: 'string',
        description: 'Your own tags, as a JSON object of strings.',
        example: '{"ticket":"T-1042"}',
      },
      languages: {
        type: 'string',
        description:
          'English names of the languages spoken, of which each part of the audio is in one: a JSON list, or separated ' +
          `by commas. At most ${MAX_LANGUAGES}; in place of \`language\`.`,
        example: 'english,german',
      },
      vocabulary: {
        type: 'string',
        description:
          `${VOCABULARY}: a JSON list, or separated by commas. At most ${MAX_TERMS} terms of ${MAX_TERM_LENGTH} ` +
          'characters.',
        example: 'Grafana, Zoë',
      },
      speakers: { type: 'string', pattern: SPEAKERS_PATTERN, description: SPEAKERS, example: 'auto' },
      diarize: { type: 'string', enum: ['true', 'false'], description: DIARIZE },
      retain_audio_days: { type: 'string', pattern: RETAIN_DAYS_PATTERN, ...RETAIN_AUDIO_DAYS, example: '30' },
      retain_text_days: { type: 'string', pattern: RETAIN_DAYS_PATTERN, ...RETAIN_TEXT_DAYS, example: '365' },
      ...TEXT_FIELDS,
    },
  },
};

/** A form may have `url` in place of `file`, too. */
const UPLOAD_BY_LINK = {
  type: 'object',
  required: ['url'],
  not: together('language', 'languages'),
  properties: {
    url: {
      type: 'string',
      maxLength: MAX_URL_CHARACTERS,
      pattern: OUTGOING_URL_PATTERN,
      description:
        'HTTPS link of the audio, which the service fetches. The recording is `processing` meanwhile, and `failed` if ' +
        'that does not succeed.',
      example: 'https://files.example.com/note.ogg',
    },
    speakers: { oneOf: SPEAKERS_SCHEMAS, description: SPEAKERS, example: 'auto' },
    diarize: { type: 'boolean', description: DIARIZE },
    retain_audio_days: { type: 'integer', minimum: 1, maximum: MAX_RETAIN_DAYS, ...RETAIN_AUDIO_DAYS, example: 30 },
    retain_text_days: { type: 'integer', minimum: 1, maximum: MAX_RETAIN_DAYS, ...RETAIN_TEXT_DAYS, example: 365 },
    custom_tags: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'Your own tags.',
      example: { ticket: 'T-1042' },
    },
    languages: {
      type: 'array',
      items: { type: 'string' },
      maxItems: MAX_LANGUAGES,
      description:
        'English names of the languages spoken, of which each part of the audio is in one; in place of `language`.',
      example: ['english', 'german'],
    },
    vocabulary: {
      type: 'array',
      items: { type: 'string', maxLength: MAX_TERM_LENGTH },
      maxItems: MAX_TERMS,
      description: `${VOCABULARY}.`,
      example: ['Grafana', 'Zoë'],
    },
    ...TEXT_FIELDS,
  },
};

const IDEMPOTENCY_KEY: ApiHeaderOptions = {
  name: 'Idempotency-Key',
  required: false,
  description: 'Identifies the upload for 24 hours: repeated with the same key, it creates no second recording.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: String.raw`^[\x20-\x7e]*$` },
};

const UPLOAD_SOURCE: ApiHeaderOptions = {
  name: 'X-Upload-Source',
  required: false,
  description:
    'Becomes the `upload_source`, unless an access token uploads. The console of the service sends `console`.',
  schema: { type: 'string', enum: [...KEY_PAIR_SOURCES], default: 'api' },
};

/** Fields of a recording that waits for its transcription. */
const PROCESSING = { status: 'processing', features: null, processed_at: null };

const UPLOADED = {
  type: CreatedRecordingView,
  example: PROCESSING,
  headers: {
    Location: { description: 'Path of the recording.', required: true, schema: { type: 'string' as const } },
    'Idempotent-Replayed': {
      description: 'Present when an earlier upload with the same Idempotency-Key created the recording.',
      schema: { type: 'string' as const, enum: ['true'] },
    },
  },
};

const NO_RECORDING = new NotFoundError('recording');
const QUOTA_EXCEEDED = new QuotaExceededError('queued_audio_seconds', 7200, 7155.2, null);
const UPLOAD_ERRORS = [
  new InvalidRequestError({ field: 'file', reason: `must be audio in ${AUDIO_FORMAT_LIST}; this looks like PDF` }),
  notAnUpload(),
  idempotencyKeyReused(),
  new PayloadTooLargeError('The file', MAX_FILE_BYTES),
  QUOTA_EXCEEDED,
  new ConcurrentUploadsError(2, 2),
];

@ApiTags('Recordings')
@Controller('v1/recordings')
export class RecordingsController {
  constructor(
    private readonly recordings: RecordingsService,
    private readonly search: RecordingSearchService,
    private readonly uploads: UploadRequestsService,
    private readonly inclusions: RecordingInclusionsService,
  ) {}

  /**
   * Upload a recording
   *
   * @remarks
   * Stores a voice note and starts its transcription. The response is sent as soon as the audio is stored; get the
   * recording, or create a webhook, to learn when its status becomes `transcribed` or `failed`. With a link in place of
   * the file, the response is sent at once, and the service fetches the audio.
   */
  @Post()
  @AllowAccessToken('recordings:write')
  @ApiConsumes('multipart/form-data')
  @ApiBody(UPLOAD_FORM)
  @ApiJsonBody(UPLOAD_BY_LINK)
  @ApiHeader(IDEMPOTENCY_KEY)
  @ApiHeader(UPLOAD_SOURCE)
  @ApiCreatedResponse(UPLOADED)
  @ApiErrors(...UPLOAD_ERRORS)
  async upload(
    @CurrentPrincipal() principal: Principal,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
    @Query() _query: NoQuery,
  ): Promise<CreatedRecordingView> {
    const source = readUploadSource(request.get('x-upload-source'));
    const { recording, replayed } = await this.uploads.accept(request, principal, new UploadFields(), source);
    if (replayed) response.setHeader('Idempotent-Replayed', 'true');
    response.setHeader('Location', recordingUri(recording.id));
    return presentCreatedRecording(recording);
  }

  /**
   * List recordings
   *
   * @remarks
   * Returns the recordings of the account, newest first. Filters can be combined.
   */
  @Get()
  @ApiQuery(TAG_FILTERS)
  @ApiErrors(new InvalidRequestError({ field: 'q', reason: 'must contain a letter or a digit' }))
  @AllowEndUser('read', 'recordings:read')
  async list(@CurrentPrincipal() principal: Principal, @Query() query: ListRecordingsQuery): Promise<RecordingPage> {
    checkDays(query);
    checkInstants(query);
    checkOrder(query);
    const { accountId } = principal;
    const visible = limitToEndUser(principal, query);
    return isSearch(query)
      ? presentSearchPage(query, await this.search.search(accountId, visible))
      : presentRecordingPage(query, await this.recordings.list(accountId, visible));
  }

  /**
   * Get a recording
   *
   * @remarks
   * Returns the recording and its status. With `include` it also has its transcription, its waveform, when something of
   * it is deleted, or more of these, so that a page that shows a recording needs one request.
   * @param id Identifier of the recording.
   */
  @Get(':recording_id')
  @ApiErrors(NO_RECORDING)
  @AllowEndUser('read', 'recordings:read')
  async get(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
    @Query() query: GetRecordingQuery,
  ): Promise<RecordingDetailsView> {
    const recording = await this.recordings.get(accountId, id);
    const names = inclusionsOf(query);
    if (names.length === 0) return presentSingleRecording(recording);
    return presentRecordingDetails(recording, await this.inclusions.load(recording, names));
  }

  /**
   * Update a recording
   *
   * @remarks
   * Changes the title or the tags, or both. A field that is left out stays as it is; null removes it.
   * @param id Identifier of the recording.
   */
  @Patch(':recording_id')
  @ApiErrors(NO_RECORDING)
  @RequireScope('recordings:write')
  async update(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
    @Query() _query: NoQuery,
    @Body() fields: UpdateRecordingDto,
  ): Promise<TitledRecordingView> {
    return presentTitledRecording(await this.recordings.update(accountId, id, labelsOf(fields)));
  }

  /**
   * Retry a recording
   *
   * @remarks
   * Transcribes a recording with the status `failed` again.
   * @param id Identifier of the recording.
   */
  @Post(':recording_id/retry')
  @ApiAcceptedResponse({ type: SingleRecordingView, example: PROCESSING })
  @ApiErrors(NO_RECORDING, notFailed(), linkForgotten(), audioDeleted(), QUOTA_EXCEEDED)
  @HttpCode(202)
  @RequireScope('recordings:write')
  async retry(
    @CurrentPrincipal() { accountId, quotas }: Principal,
    @Param('recording_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<SingleRecordingView> {
    return presentSingleRecording(await this.recordings.retry(accountId, id, quotas));
  }

  /**
   * Delete a recording
   *
   * @remarks
   * Deletes the recording, its transcription and its audio, whatever its status. One that is on hold is not deleted.
   * @param id Identifier of the recording.
   */
  @Delete(':recording_id')
  @ApiErrors(NO_RECORDING, onHold('Complaint C-1042', '2026-11-21T10:15:00'))
  @HttpCode(204)
  @AllowEndUser('delete', 'recordings:write')
  async delete(
    @CurrentPrincipal() { accountId }: Principal,
    @Param('recording_id') id: string,
    @Query() _query: NoQuery,
  ): Promise<void> {
    await this.recordings.delete(accountId, id);
  }
}
