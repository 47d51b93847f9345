/**
 * What each response looks like, for `toStrictEqual`: exactly the keys in the committed `openapi.json`, each value of its
 * type, and of the form that stands here. Spread one and overwrite what a test knows better: `{ ...API_KEY, name: 'Phone' }`.
 */
import type { RequestErrorsView, RequestErrorView } from '../../../src/modules/account/request-errors.dto.js';
import type {
  AccountView,
  QuotasView,
  QuotaView,
  UsagePeriodView,
  UsageReportView,
  VocabularyView,
} from '../../../src/modules/account/account.dto.js';
import type { AudioUrlView } from '../../../src/modules/recordings/audio-download/audio-download.dto.js';
import type { QuotaName } from '../../../src/access/plans.js';
import { SCOPES } from '../../../src/access/scopes.js';
import type { CreatedSignInCodeView } from '../../../src/modules/sign-in-codes/sign-in-codes.dto.js';
import type { CreatedAccessTokenView } from '../../../src/modules/access-tokens/access-tokens.dto.js';
import type { ApiKeyView, CreatedApiKeyView, SingleApiKeyView } from '../../../src/modules/api-keys/api-key.view.js';
import type { ModelView } from '../../../src/modules/compat/model.presenter.js';
import type { RecordingFeatures } from '../../../src/modules/recordings/recording.entity.js';
import type {
  CreatedRecordingView,
  RecordingView,
  SingleRecordingView,
} from '../../../src/modules/recordings/recording.presenter.js';
import type { WaveformView } from '../../../src/modules/recordings/waveform/waveform.presenter.js';
import type { TranscriptionView } from '../../../src/modules/transcriptions/transcription.presenter.js';
import type { TranscriptionVersionView } from '../../../src/modules/transcriptions/versions/version.presenter.js';
import type {
  AttemptView,
  DeliveryView,
  RedeliveryView,
  SingleDeliveryView,
  TestCallView,
} from '../../../src/modules/webhooks/deliveries/deliveries.dto.js';
import type { CreatedWebhookView, WebhookView } from '../../../src/modules/webhooks/webhooks.dto.js';
import { boolean, id, integer, like, matching, number, oneOf, orNull, text, UUID } from './matchers.js';
import { shapeOf } from './openapi-shape.js';

/** The three forms of D2. */
export const RESOURCE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/;
const CREATION_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const EVENT_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

const fraction = matching('a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1);
const resourceTime = like('a resource time (D2)', RESOURCE_TIME);
const creationTime = like('a creation time (D2)', CREATION_TIME);
const eventTime = like('an event time (D2)', EVENT_TIME);
const listOf = (name: string, values: readonly string[]): unknown =>
  matching(`a list of ${name}`, (value) => Array.isArray(value) && value.every((item) => values.includes(item)));

function isListOfBytes(value: unknown): boolean {
  const isByte = (item: unknown): boolean => Number.isInteger(item) && Number(item) >= 0 && Number(item) <= 255;
  return Array.isArray(value) && value.every(isByte);
}

const pathOf = (prefix: string, suffix = ''): unknown =>
  matching(`a path ${prefix}{id}${suffix}`, (value) => {
    const path = typeof value === 'string' ? value : '';
    const fits = path.startsWith(prefix) && path.endsWith(suffix);
    return fits && UUID.test(path.slice(prefix.length, path.length - suffix.length));
  });

const USAGE_PERIOD = shapeOf<UsagePeriodView>('UsagePeriodView', {
  recordings_count: integer,
  total_duration_seconds: number,
  storage_used_bytes: integer,
});

const USAGE = { current_month: USAGE_PERIOD, previous_month: USAGE_PERIOD };

export const ACCOUNT = shapeOf<AccountView>('AccountView', {
  id,
  name: text,
  email: text,
  status: oneOf('active', 'suspended'),
  plan: oneOf('free', 'pro', 'enterprise'),
  created_at: resourceTime,
  updated_at: resourceTime,
  usage: USAGE,
  uri: '/v1/account',
});

const quota = (name: QuotaName, resetsAt: unknown = null) =>
  shapeOf<QuotaView>('QuotaView', { quota: name, limit: orNull(integer), used: number, resets_at: resetsAt });

export const VOCABULARY = shapeOf<VocabularyView>('VocabularyView', {
  vocabulary: matching(
    'a list of terms',
    (value) => Array.isArray(value) && value.every((term) => typeof term === 'string'),
  ),
});

export const QUOTAS = shapeOf<QuotasView>('QuotasView', {
  quotas: [
    quota('stored_bytes'),
    quota('audio_seconds_per_month', resourceTime),
    quota('queued_audio_seconds'),
    quota('concurrent_uploads'),
  ],
  uri: '/v1/account/quotas',
});

export const API_KEY = shapeOf<ApiKeyView>('ApiKeyView', {
  id,
  tenant_id: id,
  name: text,
  key_prefix: like('the first 12 characters of a key', /^vnk_[0-9A-Za-z]{8}$/),
  scopes: listOf('scopes', SCOPES),
  status: oneOf('active', 'expired', 'revoked'),
  last_used_at: orNull(resourceTime),
  usage_count: integer,
  expires_at: orNull(resourceTime),
  created_at: resourceTime,
  updated_at: resourceTime,
  uri: pathOf('/v1/account/api-keys/'),
});

/** The additions of D11 and D36. */
export const SINGLE_API_KEY = shapeOf<SingleApiKeyView>('SingleApiKeyView', {
  ...API_KEY,
  description: orNull(text),
  created_by: orNull(id),
});

export const CREATED_API_KEY = shapeOf<CreatedApiKeyView>('CreatedApiKeyView', {
  id,
  name: text,
  key_prefix: API_KEY.key_prefix,
  api_key: like('a key (D9)', /^vnk_[0-9A-Za-z]{24}$/),
  api_secret: like('a secret (D9)', /^vns_[0-9A-Za-z]{49}$/),
  scopes: API_KEY.scopes,
  status: 'active',
  created_at: creationTime,
  uri: API_KEY.uri,
  code: 'API_KEY_CREATED',
});

export const CREATED_ACCESS_TOKEN = shapeOf<CreatedAccessTokenView>('CreatedAccessTokenView', {
  token: like('a JWT', /^[\w-]+\.[\w-]+\.[\w-]+$/),
  identity: text,
  scopes: [],
  expires_at: creationTime,
  code: 'ACCESS_TOKEN_CREATED',
});

export const CREATED_SIGN_IN_CODE = shapeOf<CreatedSignInCodeView>('CreatedSignInCodeView', {
  code: like('a sign-in code', /^vnc_[\w-]{43}$/),
  expires_at: creationTime,
});

export const USAGE_REPORT = shapeOf<UsageReportView>('UsageReportView', {
  days: integer,
  by: oneOf('day', 'key', 'user'),
  from: like('a day', /^\d{4}-\d{2}-\d{2}$/),
  to: like('a day', /^\d{4}-\d{2}-\d{2}$/),
  items: matching('a list', Array.isArray),
  uri: like('a path', /^\/v1\/account\/usage\?/),
  next_uri: orNull(like('a path', /^\/v1\/account\/usage\?/)),
});

export const REQUEST_ERROR = shapeOf<RequestErrorView>('RequestErrorView', {
  operation: text,
  status: integer,
  type: text,
  code: matching('a number or a name', (value) => ['number', 'string'].includes(typeof value)),
  field: orNull(text),
  count: integer,
  first_at: resourceTime,
  last_at: resourceTime,
  message: text,
  request_ids: matching('a list', Array.isArray),
});

export const REQUEST_ERRORS = shapeOf<RequestErrorsView>('RequestErrorsView', {
  days: integer,
  errors: matching('a list', Array.isArray),
  uri: like('a path', /^\/v1\/account\/errors\?/),
});

export const AUDIO_URL = shapeOf<AudioUrlView>('AudioUrlView', {
  url: like('a URL of audio', /^\/v1\/recordings\/[0-9a-f-]{36}\/signed-audio\?token=eyJ[\w.-]+$/),
  expires_at: creationTime,
  code: 'AUDIO_URL_CREATED',
});

export const WEBHOOK = shapeOf<WebhookView>('WebhookView', {
  id,
  url: text,
  events: listOf('events', ['recording.transcribed', 'recording.failed', 'transcription.corrected']),
  status: oneOf('active', 'disabled'),
  created_at: resourceTime,
  updated_at: resourceTime,
  uri: pathOf('/v1/webhooks/'),
});

export const CREATED_WEBHOOK = shapeOf<CreatedWebhookView>('CreatedWebhookView', {
  id,
  url: text,
  events: WEBHOOK.events,
  secret: text,
  status: 'active',
  created_at: creationTime,
  uri: WEBHOOK.uri,
  code: 'WEBHOOK_CONFIGURED',
});

const deliveryError = orNull(oneOf('dns', 'tls', 'connect', 'timeout', 'refused_address', 'reset', 'secret'));

export const ATTEMPT = shapeOf<AttemptView>('AttemptView', {
  number: integer,
  started_at: resourceTime,
  status: orNull(integer),
  error: deliveryError,
  reason: orNull(text),
  duration_ms: integer,
  response: orNull(text),
});

export const DELIVERY = shapeOf<DeliveryView>('DeliveryView', {
  id,
  event_id: id,
  event: text,
  recording_id: orNull(id),
  status: oneOf('pending', 'delivered', 'failed'),
  attempts_count: integer,
  last_status: orNull(integer),
  last_error: deliveryError,
  reason: orNull(text),
  last_duration_ms: orNull(integer),
  last_attempt_at: orNull(resourceTime),
  next_attempt_at: orNull(resourceTime),
  created_at: resourceTime,
  updated_at: resourceTime,
  uri: like('a path of a delivery', /^\/v1\/webhooks\/[0-9a-f-]{36}\/deliveries\/[0-9a-f-]{36}$/),
});

export const SINGLE_DELIVERY = shapeOf<SingleDeliveryView>('SingleDeliveryView', {
  ...DELIVERY,
  attempts: matching('a list', Array.isArray),
  body: text,
});

export const REDELIVERY = shapeOf<RedeliveryView>('RedeliveryView', {
  count: integer,
  uri: pathOf('/v1/webhooks/', '/deliveries'),
});

export const TEST_CALL = shapeOf<TestCallView>('TestCallView', {
  event_id: id,
  attempt: ATTEMPT,
  uri: pathOf('/v1/webhooks/'),
});

export const RECORDING = shapeOf<RecordingView>('RecordingView', {
  id,
  tenant_id: id,
  user_id: orNull(text),
  original_filename: text,
  s3_key: like(
    'an object key (D25)',
    /^[0-9a-f-]{36}\/\d{4}\/\d{2}\/[0-9a-f-]{36}\.(webm|mp3|ogg|wav|m4a|aac|flac|amr)$/,
  ),
  s3_bucket: text,
  duration_seconds: number,
  file_size_bytes: integer,
  audio_format: oneOf('webm', 'mp3', 'ogg', 'wav', 'm4a', 'aac', 'flac', 'amr'),
  sample_rate: orNull(integer),
  channels: orNull(integer),
  bit_rate: orNull(integer),
  audio_codec: orNull(text),
  status: oneOf('processing', 'transcribed', 'failed'),
  features: orNull(matching('features', (value) => typeof value === 'object')),
  client_ip: orNull(text),
  user_agent: orNull(text),
  upload_source: oneOf('api', 'console', 'access_token'),
  custom_tags: orNull(matching('tags', (value) => typeof value === 'object')),
  created_at: resourceTime,
  updated_at: resourceTime,
  processed_at: orNull(resourceTime),
  uri: pathOf('/v1/recordings/'),
});

export const SINGLE_RECORDING = shapeOf<SingleRecordingView>('SingleRecordingView', {
  ...RECORDING,
  subresource_uris: { transcription: pathOf('/v1/recordings/', '/transcription') },
});

export const CREATED_RECORDING = shapeOf<CreatedRecordingView>('CreatedRecordingView', {
  ...SINGLE_RECORDING,
  code: 'RECORDING_CREATED',
});

/** Without what is there only when somebody asked for it. */
export const FEATURES: Omit<Record<keyof RecordingFeatures, unknown>, 'vocabulary' | 'punctuation' | 'channels'> = {
  speech_seconds: orNull(number),
  no_speech: boolean,
};

export const TRANSCRIPTION = shapeOf<TranscriptionView>('TranscriptionView', {
  id,
  recording_id: id,
  tenant_id: id,
  text,
  confidence: fraction,
  language: like('a language in lower case', /^[a-z][a-z ]*$/),
  provider: text,
  model: text,
  processing_duration_ms: integer,
  words: matching('JSON text of a list', (value) => typeof value === 'string' && Array.isArray(JSON.parse(value))),
  created_at: resourceTime,
  updated_at: resourceTime,
  uri: pathOf('/v1/recordings/', '/transcription'),
});

export const WAVEFORM = shapeOf<WaveformView>('WaveformView', {
  recording_id: id,
  duration_seconds: number,
  peaks: matching('a list of bytes', isListOfBytes),
  uri: pathOf('/v1/recordings/', '/waveform'),
});

/** Answers in OpenAI's shape have exact keys, too (D45). */
export const COMPATIBLE_TRANSCRIPTION = { text, usage: matching('an object', (value) => typeof value === 'object') };
export const MODEL = shapeOf<ModelView>('ModelView', { id: text, object: 'model', created: integer, owned_by: text });
export const MODELS = { object: 'list', data: matching('a list', Array.isArray) };

export const WORD = { word: text, start: number, end: number, confidence: orNull(fraction) };

const TRANSCRIBED_EVENT = {
  event: 'recording.transcribed',
  timestamp: eventTime,
  recording: {
    id,
    status: 'transcribed',
    duration: number,
    format: RECORDING.audio_format,
    identity: orNull(text),
    created_at: eventTime,
    completed_at: eventTime,
  },
};

export const CORRECTED_EVENT = {
  ...TRANSCRIBED_EVENT,
  event: 'transcription.corrected',
  transcription: { version: oneOf('corrected', 'original') },
};

export const FAILED_EVENT = {
  event: 'recording.failed',
  timestamp: eventTime,
  recording: { id, status: 'failed', identity: orNull(text), created_at: eventTime },
  error: { code: 'TRANSCRIPTION_FAILED', message: text },
};

/** @param collection the key of the items: `recordings`, `api_keys` or `webhooks`. */
export function pageOf(collection: string): Record<string, unknown> {
  const path = text;
  return {
    [collection]: matching('a list', Array.isArray),
    uri: path,
    first_page_uri: path,
    next_page_uri: orNull(path),
    previous_page_uri: orNull(path),
    page: integer,
    page_size: integer,
    total: integer,
  };
}

/** The versions of a transcription, and the one that is to come. */
export const TRANSCRIPTION_VERSIONS = {
  ...pageOf('transcriptions'),
  pending: orNull(matching('an object', (value) => typeof value === 'object')),
};

export const TRANSCRIPTION_VERSION = shapeOf<TranscriptionVersionView>('TranscriptionVersionView', {
  id,
  recording_id: id,
  text,
  corrected_text: orNull(text),
  confidence: fraction,
  language: like('a language in lower case', /^[a-z][a-z ]*$/),
  provider: text,
  model: text,
  processing_duration_ms: integer,
  is_served: boolean,
  created_at: resourceTime,
});

/** A page of the event feed. */
export const EVENTS = { events: matching('a list', Array.isArray), uri: text, next_uri: orNull(text) };

/** What the erasure of an end user did. */
export const ERASED_USER = { deleted_recordings: integer, redacted_events: integer, complete: true };
