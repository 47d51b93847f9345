import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiHeader, ApiOkResponse } from '@nestjs/swagger';
import { AUDIO_FORMAT_LIST, MAX_FILE_BYTES } from '../../platform/audio-formats.js';
import {
  ConcurrentUploadsError,
  InvalidRequestError,
  NotFoundError,
  PayloadTooLargeError,
  QuotaExceededError,
} from '../../platform/errors/errors.js';
import { ApiErrorsIn, together } from '../../platform/http/openapi.js';
import { MAX_LANGUAGES } from '../../platform/languages.js';
import { MAX_TERM_LENGTH, MAX_TERMS } from '../../platform/vocabulary.js';
import { notAnUpload } from '../recordings/upload/upload-requests.service.js';
import { idempotencyKeyReused } from '../recordings/upload/upload.service.js';
import { noTranslation } from './audio-transcriptions.service.js';
import { AudioNotTranscribedError, OPENAI_ERRORS, TranscriptionTimeoutError } from './openai-errors.js';
import {
  GRANULARITIES,
  INCLUSIONS,
  RESPONSE_FORMATS,
  STREAM_NAMES,
  TRANSLATION_FORMATS,
} from './transcription-form.js';

const FILE = {
  type: 'string',
  format: 'binary',
  description: `Audio in ${AUDIO_FORMAT_LIST}, at most 25 MB (${MAX_FILE_BYTES.toLocaleString('en-US')} bytes).`,
};
const MODEL = {
  type: 'string',
  description: 'Any name; the service decides which engine transcribes.',
  example: 'whisper-1',
};
const FORMAT = { type: 'string', enum: [...TRANSLATION_FORMATS], default: 'json' };
const PROMPT = {
  type: 'string',
  description: 'Names and words to expect, separated by commas or lines. Of sentences, the names count.',
  example: 'Kubernetes, Grafana',
};
const TEMPERATURE = { type: 'string', description: 'Accepted; no engine uses it.', example: '0' };

const FORM = {
  schema: {
    type: 'object',
    required: ['file'],
    not: together('language', 'languages[]'),
    additionalProperties: true,
    properties: {
      file: FILE,
      model: MODEL,
      language: { type: 'string', description: 'ISO 639 code of the language spoken.', example: 'en' },
      'languages[]': {
        type: 'array',
        maxItems: MAX_LANGUAGES,
        items: { type: 'string' },
        description: 'ISO 639 codes of the languages spoken, each part of the audio in one. In place of `language`.',
        example: ['en', 'de'],
      },
      prompt: PROMPT,
      'keywords[]': {
        type: 'array',
        maxItems: MAX_TERMS,
        items: { type: 'string', minLength: 1, maxLength: MAX_TERM_LENGTH },
        description: 'Names and words to expect, before those of the `prompt`.',
        example: ['Kubernetes', 'Grafana'],
      },
      response_format: {
        ...FORMAT,
        enum: [...RESPONSE_FORMATS],
        description: '`diarized_json` tells who speaks.',
      },
      speakers: {
        type: 'string',
        description: 'How many speakers to tell apart, as in an upload. `auto` for `diarized_json`.',
        example: '2',
      },
      temperature: TEMPERATURE,
      'include[]': {
        type: 'array',
        items: { type: 'string', enum: [...INCLUSIONS] },
        description: 'For `json` and `stream`: `logprobs` adds how sure the engine is of each word.',
      },
      chunking_strategy: {
        type: 'string',
        description: '`auto`, or a `server_vad` object as JSON. The service always cuts at pauses.',
        example: 'auto',
      },
      'timestamp_granularities[]': {
        type: 'array',
        minItems: 1,
        items: { type: 'string', enum: [...GRANULARITIES] },
        description: 'For `verbose_json`. With or without the brackets.',
      },
      stream: {
        type: 'string',
        enum: STREAM_NAMES,
        description: 'Whether to send the text as it is transcribed.',
      },
    },
  },
};

const TRANSLATION_FORM = {
  schema: {
    type: 'object',
    required: ['file'],
    additionalProperties: true,
    properties: { file: FILE, model: MODEL, prompt: PROMPT, response_format: FORMAT, temperature: TEMPERATURE },
  },
};

const SEGMENT = {
  id: 0,
  seek: 0,
  start: 0.46,
  end: 2.1,
  text: ' go forward ten meters',
  tokens: [],
  temperature: 0,
  avg_logprob: -0.0513,
  compression_ratio: 0.7241,
  no_speech_prob: 0,
};

const number = { type: 'number' };
const object = (properties: Record<string, object>, optional: string[] = []): object => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
const USAGE = object({ type: { type: 'string', enum: ['duration'] }, seconds: { type: 'integer' } });

const SEGMENT_SCHEMA = object({
  id: { type: 'integer' },
  seek: { type: 'integer' },
  start: number,
  end: number,
  text: { type: 'string' },
  tokens: { type: 'array', items: { type: 'integer' } },
  temperature: number,
  avg_logprob: number,
  compression_ratio: number,
  no_speech_prob: number,
});

/** `json`, `verbose_json` and `diarized_json` in one, because which of them comes depends on the request. */
const TRANSCRIPTION = object(
  {
    text: { type: 'string', description: 'Empty when nobody speaks.' },
    usage: USAGE,
    task: { type: 'string', enum: ['transcribe', 'translate'] },
    language: { type: 'string', description: 'Lower-case English name.' },
    duration: { ...number, description: 'Seconds.' },
    segments: {
      type: 'array',
      items: SEGMENT_SCHEMA,
      // A choice of items would take away from the clients of `verbose_json` what they rely on.
      description:
        'Of `verbose_json`. Those of `diarized_json` have other keys: `type` (`transcript.text.segment`), `id` (text such ' +
        'as `seg_001`), `start`, `end`, `text` and `speaker`.',
    },
    words: { type: 'array', items: object({ word: { type: 'string' }, start: number, end: number }) },
    languages: {
      type: 'array',
      items: object({ code: { type: 'string' } }),
      description: 'Only for a request with `languages[]`: those that were heard, most of it first.',
    },
    logprobs: {
      type: 'array',
      items: object({
        token: { type: 'string', description: 'A word.' },
        logprob: number,
        bytes: { type: 'array', items: { type: 'integer' } },
      }),
      description: 'Only with `include[]=logprobs`.',
    },
  },
  ['task', 'language', 'duration', 'segments', 'words', 'languages', 'logprobs'],
);

const USED = { type: 'duration', seconds: 3 };
const TEXT = 'go forward ten meters';
const EXAMPLES = {
  json: { value: { text: TEXT, usage: USED } },
  verbose_json: {
    value: { task: 'transcribe', language: 'english', duration: 2.2, text: TEXT, segments: [SEGMENT], usage: USED },
  },
};

const header = (description: string, required = true) => ({
  description,
  required,
  schema: { type: 'string' as const },
});

const ANSWER = {
  description: 'The transcript in the `response_format`; with `stream` as server-sent events.',
  headers: {
    'X-Recording-Id': header('Identifier of the recording.'),
    'X-Transcription-Engine': header(
      'Provider and model of the engine that transcribed, such as `pocketsphinx/en-us`.',
    ),
    'Idempotent-Replayed': header('`true` when an earlier request created the recording.', false),
  },
  content: {
    'application/json': { schema: TRANSCRIPTION, examples: EXAMPLES },
    'text/plain': { schema: { type: 'string' as const }, example: `${TEXT}\n` },
    'text/event-stream': {
      schema: { type: 'string' as const },
      example:
        `data: {"type":"transcript.text.delta","delta":"${TEXT}"}\n\n` +
        `data: {"type":"transcript.text.done","text":"${TEXT}","usage":{"type":"duration","seconds":3}}\n\n` +
        'data: [DONE]\n\n',
    },
  },
};

const ERRORS = [
  new InvalidRequestError({ field: 'response_format', reason: `must be one of ${RESPONSE_FORMATS.join(', ')}` }),
  notAnUpload(),
  new AudioNotTranscribedError('The file contains no audio that can be decoded'),
  new NotFoundError('recording'),
  new TranscriptionTimeoutError(120),
  idempotencyKeyReused(),
  new PayloadTooLargeError('The file', MAX_FILE_BYTES),
  new QuotaExceededError('queued_audio_seconds', 7200, 7155.2, null),
  new ConcurrentUploadsError(2, 2),
];

const IDEMPOTENCY_KEY = {
  name: 'Idempotency-Key',
  required: false,
  description: 'As for an upload. Without it the same audio, language and prompt are one recording for ten minutes.',
  schema: { type: 'string' as const, minLength: 1, maxLength: 255, pattern: String.raw`^[\x20-\x7e]*$` },
};

/** What `POST /v1/audio/transcriptions` takes and answers, for the OpenAPI document. */
export const DescribeTranscription = (): MethodDecorator =>
  applyDecorators(
    ApiConsumes('multipart/form-data'),
    ApiBody(FORM),
    ApiHeader(IDEMPOTENCY_KEY),
    ApiOkResponse(ANSWER),
    ApiErrorsIn(OPENAI_ERRORS, ...ERRORS),
  );

/** What `POST /v1/audio/translations` takes and answers. */
export const DescribeTranslation = (): MethodDecorator =>
  applyDecorators(
    ApiConsumes('multipart/form-data'),
    ApiBody(TRANSLATION_FORM),
    ApiHeader(IDEMPOTENCY_KEY),
    ApiOkResponse(ANSWER),
    ApiErrorsIn(OPENAI_ERRORS, noTranslation(), ...ERRORS),
  );
