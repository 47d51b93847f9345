import type { IncomingMessage } from 'node:http';
import type { Test } from 'supertest';
import request from 'supertest';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { silenceWav } from '../audio/audio-bytes.js';

/** What an operation is called with at its worst. A form's file is a tenth of a second of silence. */
export interface LargestInput {
  body?: object;
  query?: string;
  form?: Record<string, string>;
  headers?: Record<string, string>;
}

const text = (length: number, character = 'x'): string => character.repeat(length);
const list = <Item>(length: number, item: (index: number) => Item): Item[] => Array.from({ length }, (_, i) => item(i));

/** Nothing in it can be made large. */
const NONE: LargestInput[] = [{}];
const PAGE: LargestInput[] = [{ query: '?limit=100' }];

/** As many as 2 MB hold. All within the first second, since a recording of a tenth of one is corrected. */
const WORDS = list(43_000, (i) => ({ word: `w${i % 97}`, start: Math.floor(i / 50) / 1000, end: i / 50_000 }));
const TAGS = JSON.stringify(Object.fromEntries(list(7, (i) => [`${i}${text(31)}`, text(100)])));
const VOCABULARY = list(100, (i) => `${i} ${text(60, 'é')}`);
const WEBHOOK = {
  url: `https://hooks.example.com/${text(2000)}`,
  events: ['recording.transcribed'],
  secret: text(200),
};
const TOKEN_ISSUER = { issuer: text(255), jwks_url: `https://login.example.com/${text(2000)}` };
/** RSA of the largest modulus that is read. */
const MANY_KEYS = {
  issuer: 'x',
  keys: list(20, (i) => ({ kty: 'RSA', kid: `${i}`, e: 'AQAB', n: text(2048, '_') })),
};
/** Many quotation marks and blanks, of which a careless expression tries every pair. */
const PROMPT = `"${text(8000, '" ')}`;
const FORMATS = ['json', 'text', 'srt', 'vtt', 'paragraphs', 'rttm'];
/** None of them is known, which is found out last. */
const NAMES = list(100, (i) => ({
  speaker: String.fromCharCode(65 + Math.floor(i / 26), 65 + (i % 26)),
  name: text(100, '日'),
}));

/** For each operation of `OPERATIONS` the largest inputs that it takes. */
export const LARGEST_INPUTS: Record<string, LargestInput[]> = {
  'GET /v1/account': NONE,
  'GET /v1/account/quotas': NONE,
  'GET /v1/account/usage': [{ query: '?days=90&by=user_id&limit=100' }],
  'GET /v1/account/errors': PAGE,
  'GET /v1/account/audit-log': PAGE,
  'GET /v1/account/audit-log/settings': NONE,
  'PUT /v1/account/audit-log/settings': [{ body: { records_reads: false, retain_days: 3650 } }],
  'GET /v1/account/export': NONE,
  'POST /v1/account/export': NONE,
  'GET /v1/account/export/archive': NONE,
  'GET /v1/account/vocabulary': NONE,
  'PUT /v1/account/vocabulary': [{ body: { vocabulary: VOCABULARY } }],
  'GET /v1/account/speakers': NONE,
  'PUT /v1/account/speakers': [{ body: { speakers: 20 } }],
  'GET /v1/account/retention': NONE,
  'PUT /v1/account/retention': [{ body: { retain_audio_days: 1, retain_text_days: 3650, delete_audio_after: null } }],
  'GET /v1/account/retention/upcoming': PAGE,
  'GET /v1/account/api-keys': PAGE,
  'POST /v1/account/api-keys': [{ body: { name: text(255) } }],
  'GET /v1/account/api-keys/:key_id': NONE,
  'DELETE /v1/account/api-keys/:key_id': [{ query: '?descendants=true' }],
  'POST /v1/account/access-tokens': [{ body: { identity: text(255) } }],
  'DELETE /v1/account/access-tokens': [{ query: `?identity=${text(255)}` }],
  'GET /v1/account/token-issuers': PAGE,
  'POST /v1/account/token-issuers': [{ body: TOKEN_ISSUER }, { body: MANY_KEYS }],
  'GET /v1/account/token-issuers/:token_issuer_id': NONE,
  'PUT /v1/account/token-issuers/:token_issuer_id': [{ body: TOKEN_ISSUER }],
  'DELETE /v1/account/token-issuers/:token_issuer_id': NONE,
  'POST /v1/account/sign-in-codes': NONE,
  'GET /v1/account/members': PAGE,
  'GET /v1/account/invitations': PAGE,
  'GET /v1/webhooks': PAGE,
  'POST /v1/webhooks': [{ body: WEBHOOK }],
  'GET /v1/webhooks/:webhook_id': NONE,
  'PUT /v1/webhooks/:webhook_id': [{ body: WEBHOOK }],
  'DELETE /v1/webhooks/:webhook_id': NONE,
  'GET /v1/webhooks/:webhook_id/deliveries': PAGE,
  'GET /v1/webhooks/:webhook_id/deliveries/:delivery_id': NONE,
  'POST /v1/webhooks/:webhook_id/deliveries/:delivery_id/redeliver': NONE,
  'POST /v1/webhooks/:webhook_id/redeliver': [{ body: { status: 'failed' } }],
  'POST /v1/webhooks/:webhook_id/test': NONE,
  'GET /v1/recordings': [
    { query: '?limit=100' },
    { query: `?limit=100&q=${encodeURIComponent(text(500, 'a '))}` },
    { query: `?limit=100&q=${encodeURIComponent(text(500, '" '))}` },
  ],
  'POST /v1/recordings': [
    { form: { title: text(200, 'é'), custom_tags: TAGS, vocabulary: JSON.stringify(VOCABULARY) } },
    { form: { callback_url: WEBHOOK.url, callback_secret: WEBHOOK.secret } },
    {
      body: {
        url: `https://files.example.com/${text(1900)}`,
        custom_tags: JSON.parse(TAGS) as object,
        vocabulary: VOCABULARY,
        callback_url: WEBHOOK.url,
        callback_secret: WEBHOOK.secret,
      },
    },
  ],
  'GET /v1/recordings/:recording_id': [{ query: '?include=transcription,waveform' }],
  'GET /v1/recordings/:recording_id/callback': NONE,
  'PATCH /v1/recordings/:recording_id': [{ body: { title: text(200, 'é'), custom_tags: JSON.parse(TAGS) as object } }],
  'GET /v1/recordings/:recording_id/transcription': FORMATS.map((format) => ({ query: `?format=${format}` })),
  'PUT /v1/recordings/:recording_id/transcription': [
    { body: { words: WORDS } },
    { body: { words: JSON.stringify(WORDS.slice(0, 30_000)) } },
    { body: { text: text(100_000, 'a ') } },
    { body: { text: text(200_000, '日') } },
  ],
  'DELETE /v1/recordings/:recording_id/transcription': NONE,
  'GET /v1/recordings/:recording_id/speakers': NONE,
  'PUT /v1/recordings/:recording_id/speakers': [{ body: { speakers: NAMES } }],
  'GET /v1/recordings/:recording_id/transcriptions': PAGE,
  'POST /v1/recordings/:recording_id/transcribe': [{ body: { language: 'english' } }],
  'POST /v1/recordings/:recording_id/retry': NONE,
  'DELETE /v1/recordings/:recording_id': NONE,
  'PUT /v1/recordings/:recording_id/hold': [{ body: { reason: text(500, '日') } }],
  'DELETE /v1/recordings/:recording_id/hold': NONE,
  'GET /v1/recordings/:recording_id/shares': PAGE,
  'POST /v1/recordings/:recording_id/shares': [{ body: { password: text(200, '日'), audio: true } }],
  'DELETE /v1/recordings/:recording_id/shares/:share_id': NONE,
  'DELETE /v1/users/:user_id': NONE,
  'GET /v1/event-types': NONE,
  'GET /v1/events': PAGE,
  'GET /v1/events/stream': [{ headers: { 'Last-Event-ID': '0' } }],
  'GET /v1/recordings/:recording_id/audio': [{ headers: { Range: `bytes=${text(5000, '0-1, ')}0-1` } }],
  'GET /v1/recordings/:recording_id/waveform': NONE,
  'POST /v1/recordings/:recording_id/audio-url': NONE,
  'POST /v1/audio/transcriptions': ['json', 'text', 'srt', 'vtt', 'verbose_json'].map((format) => ({
    form: {
      prompt: PROMPT,
      response_format: format,
      'timestamp_granularities[]': 'segment',
      'include[]': 'logprobs',
    },
    headers: { 'Idempotency-Key': 'largest' },
  })),
  'POST /v1/audio/translations': [
    { form: { prompt: PROMPT, response_format: 'verbose_json' }, headers: { 'Idempotency-Key': 'translation' } },
  ],
  'GET /v1/models': NONE,
  'GET /v1/models/:model': NONE,
};

/** Bodies and forms that are no right input, but arrive whole before that is known. */
export const HOSTILE_BODIES: [name: string, json: string][] = [
  ['many keys', `{${list(150_000, (i) => `"k${i}":0`).join(',')}}`],
  ['many lists', `{"words":[${text(650_000, '[],')}[]]}`],
  ['deep lists', `{"words":${text(900_000, '[')}${text(900_000, ']')}}`],
  ['a key twice, at the end', `{${list(120_000, (i) => `"k${i}":0`).join(',')},"k0":1}`],
];

/** Sends it and reads the answer, whatever it is; of a stream, what comes within a second. */
export function callLargest(
  { url, headers }: Pick<ApiClient, 'url' | 'headers'>,
  name: string,
  ids: object,
  input: LargestInput,
): Test {
  const [method = '', path = ''] = name.split(' ');
  const values: Record<string, string> = { ...ids, model: 'any', user_id: text(255) };
  const target = path.replaceAll(/:(\w+)/g, (_, key: string) => values[key] ?? key) + (input.query ?? '');
  const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
  const agent = request(url);
  const sending = agent[verb](target)
    .set({ ...headers, ...input.headers })
    .ok(() => true)
    .buffer(true)
    .parse((answer, done) => {
      answer.on('data', () => undefined).on('end', () => done(null, null));
      if (!path.endsWith('/stream')) return;
      setTimeout(() => {
        done(null, null);
        (answer as unknown as IncomingMessage).destroy();
      }, 1000);
    });
  if (!input.form) return input.body === undefined ? sending : sending.send(input.body);
  for (const [field, value] of Object.entries(input.form)) void sending.field(field, value);
  return sending.attach('file', silenceWav(0.1), 'note.wav');
}
