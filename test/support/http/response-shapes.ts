/**
 * What each response looks like, for `toStrictEqual`: exactly the keys in the committed `openapi.json`, each value of its
 * type, and of the form that stands here. Spread one and overwrite what a test knows better: `{ ...API_KEY, name: 'Phone' }`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QuotaName } from '../../../src/access/plans.js';
import { SCOPES } from '../../../src/access/scopes.js';
import { boolean, id, integer, like, matching, number, oneOf, orNull, text, UUID } from './matchers.js';
import { ROOT } from '../paths.js';

/** The three forms of D2. */
export const RESOURCE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/;
const CREATION_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const EVENT_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

interface PropertySchema {
  type?: string | [string, 'null'];
  format?: string;
  enum?: readonly string[];
}

interface Document {
  components: { schemas: Record<string, { properties?: Record<string, PropertySchema>; required?: string[] }> };
}

const { schemas } = (JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8')) as Document).components;

const TYPES: Record<string, unknown> = {
  string: text,
  number,
  integer,
  boolean,
  array: matching('a list', Array.isArray),
};

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

const USAGE_PERIOD = shapeOf('UsagePeriodView', {});

const USAGE = { current_month: USAGE_PERIOD, previous_month: USAGE_PERIOD };

export const ACCOUNT = shapeOf('AccountView', {
  usage: USAGE,
  uri: '/v1/account',
});

const quota = (name: QuotaName, resetsAt: unknown = null) =>
  shapeOf('QuotaView', { quota: name, limit: orNull(integer), used: number, resets_at: resetsAt });

export const VOCABULARY = shapeOf('VocabularyView', {
  vocabulary: matching(
    'a list of terms',
    (value) => Array.isArray(value) && value.every((term) => typeof term === 'string'),
  ),
});

export const QUOTAS = shapeOf('QuotasView', {
  quotas: [
    quota('stored_bytes'),
    quota('audio_seconds_per_month', resourceTime),
    quota('queued_audio_seconds'),
    quota('concurrent_uploads'),
  ],
  uri: '/v1/account/quotas',
});

export const API_KEY = shapeOf('ApiKeyView', {
  key_prefix: like('the first 12 characters of a key', /^vnk_[0-9A-Za-z]{8}$/),
  scopes: listOf('scopes', SCOPES),
  uri: pathOf('/v1/account/api-keys/'),
});

/** The additions of D11 and D36. */
export const SINGLE_API_KEY = shapeOf('SingleApiKeyView', {
  ...API_KEY,
  created_by: orNull(id),
});

export const CREATED_API_KEY = shapeOf('CreatedApiKeyView', {
  key_prefix: API_KEY.key_prefix,
  api_key: like('a key (D9)', /^vnk_[0-9A-Za-z]{24}$/),
  api_secret: like('a secret (D9)', /^vns_[0-9A-Za-z]{49}$/),
  scopes: API_KEY.scopes,
  status: 'active',
  created_at: creationTime,
  uri: API_KEY.uri,
});

export const CREATED_ACCESS_TOKEN = shapeOf('CreatedAccessTokenView', {
  token: like('a JWT', /^[\w-]+\.[\w-]+\.[\w-]+$/),
  scopes: [],
  expires_at: creationTime,
});

export const TOKEN_ISSUER = shapeOf('TokenIssuerView', {
  audience: id,
  jwks_url: orNull(text),
  keys: orNull(TYPES['array']),
  allows: listOf('rights', ['read', 'delete']),
  uri: pathOf('/v1/account/token-issuers/'),
});

export const CREATED_SIGN_IN_CODE = shapeOf('CreatedSignInCodeView', {
  code: like('a sign-in code', /^vnc_[\w-]{43}$/),
  expires_at: creationTime,
});

export const ACCOUNT_SPEAKERS = shapeOf('AccountSpeakersView', {
  speakers: matching(
    'auto, a number from 1 to 20, or null',
    (value) => value === null || value === 'auto' || (Number.isInteger(value) && Number(value) >= 1),
  ),
  uri: like('its path', /^\/v1\/account\/speakers$/),
});

export const RETENTION = shapeOf('RetentionView', {
  retain_audio_days: orNull(integer),
  retain_text_days: orNull(integer),
  delete_audio_after: orNull(oneOf('transcribed')),
  uri: like('its path', /^\/v1\/account\/retention$/),
});

export const AUDIT_LOG_SETTINGS = shapeOf('AuditLogSettingsView', {
  records_reads: boolean,
  retain_days: orNull(integer),
  uri: like('its path', /^\/v1\/account\/audit-log\/settings$/),
});

export const ACCOUNT_EXPORT = shapeOf('AccountExportView', {
  status: oneOf('preparing', 'ready', 'failed'),
  size_bytes: orNull(integer),
  uri: like('its path', /^\/v1\/account\/export$/),
  archive_uri: orNull(like('its path', /^\/v1\/account\/export\/archive$/)),
});

export const UPCOMING_DELETIONS = shapeOf('UpcomingDeletionsView', {
  uri: like('a path', /^\/v1\/account\/retention\/upcoming\?/),
  next_uri: orNull(like('a path', /^\/v1\/account\/retention\/upcoming\?/)),
});

export const HOLD = shapeOf('HoldView', { recording_uri: pathOf('/v1/recordings/') });

export const USAGE_REPORT = shapeOf('UsageReportView', {
  from: like('a day', /^\d{4}-\d{2}-\d{2}$/),
  to: like('a day', /^\d{4}-\d{2}-\d{2}$/),
  uri: like('a path', /^\/v1\/account\/usage\?/),
  next_uri: orNull(like('a path', /^\/v1\/account\/usage\?/)),
});

export const REQUEST_ERROR = shapeOf('RequestErrorView', {
  code: matching('a number or a name', (value) => ['number', 'string'].includes(typeof value)),
});

export const REQUEST_ERRORS = shapeOf('RequestErrorsView', {
  uri: like('a path', /^\/v1\/account\/errors\?/),
});

export const AUDIO_URL = shapeOf('AudioUrlView', {
  url: like('a URL of audio', /^\/v1\/recordings\/[0-9a-f-]{36}\/signed-audio\?token=eyJ[\w.-]+$/),
  expires_at: creationTime,
});

export const WEBHOOK = shapeOf('WebhookView', {
  events: listOf('events', [
    'recording.transcribed',
    'recording.failed',
    'transcription.corrected',
    'recording.partial',
  ]),
  uri: pathOf('/v1/webhooks/'),
});

export const CREATED_WEBHOOK = shapeOf('CreatedWebhookView', {
  events: WEBHOOK.events,
  status: 'active',
  created_at: creationTime,
  uri: WEBHOOK.uri,
});

export const CALLBACK = shapeOf('CallbackView', {
  deliveries_uri: pathOf('/v1/webhooks/', '/deliveries'),
  uri: pathOf('/v1/recordings/', '/callback'),
});

export const CREATED_SHARE = shapeOf('CreatedShareView', {
  url: like('the path of a page', /^\/shared#vnsh_[\w-]{43}$/),
});

const deliveryError = orNull(oneOf('dns', 'tls', 'connect', 'timeout', 'refused_address', 'reset', 'secret'));

export const ATTEMPT = shapeOf('AttemptView', {
  error: deliveryError,
});

export const DELIVERY = shapeOf('DeliveryView', {
  last_error: deliveryError,
  uri: like('a path of a delivery', /^\/v1\/webhooks\/[0-9a-f-]{36}\/deliveries\/[0-9a-f-]{36}$/),
});

export const SINGLE_DELIVERY = shapeOf('SingleDeliveryView', {
  ...DELIVERY,
});

export const REDELIVERY = shapeOf('RedeliveryView', {
  uri: pathOf('/v1/webhooks/', '/deliveries'),
});

export const TEST_CALL = shapeOf('TestCallView', {
  attempt: ATTEMPT,
  uri: pathOf('/v1/webhooks/'),
});

export const RECORDING = shapeOf('RecordingView', {
  s3_key: like(
    'an object key (D25)',
    /^[0-9a-f-]{36}\/\d{4}\/\d{2}\/[0-9a-f-]{36}\.(webm|mp3|ogg|wav|m4a|aac|flac|amr)$/,
  ),
  features: orNull(matching('features', (value) => typeof value === 'object')),
  upload_source: oneOf('api', 'console', 'access_token'),
  custom_tags: orNull(matching('tags', (value) => typeof value === 'object')),
  uri: pathOf('/v1/recordings/'),
});

export const SINGLE_RECORDING = shapeOf('SingleRecordingView', {
  ...RECORDING,
  subresource_uris: { transcription: pathOf('/v1/recordings/', '/transcription') },
});

export const TITLED_RECORDING = shapeOf('TitledRecordingView', {
  ...SINGLE_RECORDING,
});

export const CREATED_RECORDING = shapeOf('CreatedRecordingView', {
  ...SINGLE_RECORDING,
});

/** Without what is there only when somebody asked for it. */
export const FEATURES: Record<'speech_seconds' | 'no_speech', unknown> = {
  speech_seconds: orNull(number),
  no_speech: boolean,
};

export const TRANSCRIPTION = shapeOf('TranscriptionView', {
  confidence: fraction,
  language: like('a language in lower case', /^[a-z][a-z ]*$/),
  words: matching('JSON text of a list', (value) => typeof value === 'string' && Array.isArray(JSON.parse(value))),
  uri: pathOf('/v1/recordings/', '/transcription'),
});

export const WAVEFORM = shapeOf('WaveformView', {
  peaks: matching('a list of bytes', isListOfBytes),
  uri: pathOf('/v1/recordings/', '/waveform'),
});

export const SPEAKERS = shapeOf('SpeakersView', { speakers: [], uri: pathOf('/v1/recordings/', '/speakers') });

/** Answers in OpenAI's shape have exact keys, too (D45). */
export const COMPATIBLE_TRANSCRIPTION = { text, usage: matching('an object', (value) => typeof value === 'object') };
export const MODEL = shapeOf('ModelView', { id: text, object: 'model', created: integer, owned_by: text });
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

export const TRANSCRIPTION_VERSION = shapeOf('TranscriptionVersionView', {
  confidence: fraction,
  language: like('a language in lower case', /^[a-z][a-z ]*$/),
});

/** A page of the event feed. */
export const EVENT_TYPES = shapeOf('EventTypesView', { uri: '/v1/event-types' });

export const EVENTS = { events: matching('a list', Array.isArray), uri: text, next_uri: orNull(text) };

/** What the erasure of an end user did. */
export const ERASED_USER = { deleted_recordings: integer, redacted_events: integer, complete: true };

/**
 * The shape of a view: exactly the fields that the committed `openapi.json` describes, without the optional ones. A time
 * is a resource time. `forms` says more about some fields than their type, and must name no other field.
 */
function shapeOf(schema: string, forms: Record<string, unknown> = {}): Record<string, unknown> {
  const { properties: described, required = [] } = schemas[schema] ?? {};
  if (!described) throw new Error(`openapi.json has no schema ${schema}`);
  const unknown = Object.keys(forms).filter((name) => !(name in described));
  if (unknown.length > 0) throw new Error(`${schema} in openapi.json has no ${unknown.join(', ')}`);
  const present = Object.entries(described).filter(([name]) => name in forms || required.includes(name));
  return Object.fromEntries(
    present.map(([name, property]) => [name, name in forms ? forms[name] : matcherOf(schema, name, property)]),
  );
}

function matcherOf(schema: string, name: string, { type: types = '', format, enum: values }: PropertySchema): unknown {
  const [type, nullable] = typeof types === 'string' ? [types] : types;
  const ofName = name.endsWith('_at') ? resourceTime : format === 'uuid' ? id : TYPES[type];
  const matcher = values ? oneOf(...values) : ofName;
  if (!matcher) throw new Error(`${schema}.${name} needs a form in response-shapes.ts`);
  return nullable ? orNull(matcher) : matcher;
}
