import type { IncomingMessage } from 'node:http';
import request, { type Test } from 'supertest';
import type { Scope } from '../../../src/access/scopes.js';
import { silenceWav } from '../audio/audio-bytes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';
import * as shapes from './response-shapes.js';
import { exportAccount } from '../state/account-export.js';
import { failDelivery } from '../state/recording-events.js';
import { fail, transcribe, upload } from '../state/recording-states.js';

/** One operation of the interface, with an input that it takes. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As the router spells it. */
  path: string;
  /** D10. */
  scope: Scope;
  /** Status of its success. */
  success: number;
  /** Its answer has exactly the keys of this shape; none without a body, or if it is no JSON. */
  shape: object;
  /** Of the answer, if it is no JSON. */
  type?: string;
  /** An end user's access token will do, too (D15). */
  takesToken?: true;
  /** Scopes that it needs as well. */
  alsoScopes?: Scope[];
  /** Its errors have the shape of OpenAI's (D45). */
  isCompatible?: true;
  /** JSON that it takes, or an upload form. */
  body?: object | 'form';
  /** The state in which a recording must be for it to succeed, or an export; any, when left out. */
  needs?: 'transcribed' | 'corrected' | 'failed' | 'callback' | 'export';
  /** Its answer does not end by itself. */
  isStream?: true;
}

/** What path parameters are filled with. */
export interface Ids {
  key_id: string;
  token_issuer_id: string;
  webhook_id: string;
  /** Of the webhook; it has failed. */
  delivery_id: string;
  recording_id: string;
  /** Of the recording. */
  share_id: string;
  user_id?: string;
}

const WEBHOOK_BODY = { url: 'https://hooks.example.com/notes', events: ['recording.transcribed'] };
const TOKEN_ISSUER_BODY = {
  issuer: 'https://login.example.com/',
  jwks_url: 'https://login.example.com/jwks.json',
  allows: ['read'],
};
/** Refuses connections, so that a test call ends at once. */
const CLOSED_PORT = { url: 'http://127.0.0.1:9/', events: ['recording.transcribed', 'recording.failed'] };

const CALLBACK = { callback_url: CLOSED_PORT.url, callback_secret: 'a secret of a callback' };

/** Every operation, one line each. Tests of scopes, tenancy, keys and bad input read this table and compare it with the router. */
export const OPERATIONS: Operation[] = [
  define('GET /v1/account', 'account:read', 200, shapes.ACCOUNT),
  define('GET /v1/account/quotas', 'account:read', 200, shapes.QUOTAS),
  define('GET /v1/account/usage', 'account:read', 200, shapes.USAGE_REPORT),
  define('GET /v1/account/errors', 'account:read', 200, shapes.REQUEST_ERRORS),
  define('GET /v1/account/audit-log', 'account:read', 200, shapes.pageOf('entries')),
  define('GET /v1/account/audit-log/settings', 'account:read', 200, shapes.AUDIT_LOG_SETTINGS),
  define('PUT /v1/account/audit-log/settings', 'account:write', 200, shapes.AUDIT_LOG_SETTINGS, {
    body: { records_reads: true, retain_days: 365 },
  }),
  define('GET /v1/account/vocabulary', 'account:read', 200, shapes.VOCABULARY),
  define('PUT /v1/account/vocabulary', 'account:write', 200, shapes.VOCABULARY, {
    body: { vocabulary: ['Grafana', 'Zoë'] },
  }),
  define('GET /v1/account/speakers', 'account:read', 200, shapes.ACCOUNT_SPEAKERS),
  define('PUT /v1/account/speakers', 'account:write', 200, shapes.ACCOUNT_SPEAKERS, { body: { speakers: 'auto' } }),
  define('GET /v1/account/retention', 'account:read', 200, shapes.RETENTION),
  define('PUT /v1/account/retention', 'account:write', 200, shapes.RETENTION, {
    body: { retain_audio_days: 30, retain_text_days: 365, delete_audio_after: 'transcribed' },
  }),
  define('GET /v1/account/retention/upcoming', 'account:read', 200, shapes.UPCOMING_DELETIONS),
  define('GET /v1/account/export', 'account:read', 200, shapes.ACCOUNT_EXPORT, { needs: 'export' }),
  define(
    'GET /v1/account/export/archive',
    'account:write',
    200,
    {},
    {
      alsoScopes: ['recordings:read', 'webhooks:read'],
      type: 'application/x-tar',
      needs: 'export',
    },
  ),
  define('POST /v1/account/export', 'account:write', 202, shapes.ACCOUNT_EXPORT, {
    alsoScopes: ['recordings:read', 'webhooks:read'],
  }),
  define('GET /v1/account/api-keys', 'account:read', 200, shapes.pageOf('api_keys')),
  define('POST /v1/account/api-keys', 'account:write', 201, shapes.CREATED_API_KEY, { body: { name: 'A key' } }),
  define('GET /v1/account/api-keys/:key_id', 'account:read', 200, shapes.SINGLE_API_KEY),
  define('DELETE /v1/account/api-keys/:key_id', 'account:write', 204, {}),
  define('POST /v1/account/access-tokens', 'recordings:write', 201, shapes.CREATED_ACCESS_TOKEN, {
    body: { identity: 'user-1' },
  }),
  define('DELETE /v1/account/access-tokens', 'account:write', 204, {}),
  define('GET /v1/account/token-issuers', 'account:read', 200, shapes.pageOf('token_issuers')),
  define('POST /v1/account/token-issuers', 'account:write', 201, shapes.TOKEN_ISSUER, { body: TOKEN_ISSUER_BODY }),
  define('GET /v1/account/token-issuers/:token_issuer_id', 'account:read', 200, shapes.TOKEN_ISSUER),
  define('PUT /v1/account/token-issuers/:token_issuer_id', 'account:write', 200, shapes.TOKEN_ISSUER, {
    body: TOKEN_ISSUER_BODY,
  }),
  define('DELETE /v1/account/token-issuers/:token_issuer_id', 'account:write', 204, {}),
  define('POST /v1/account/sign-in-codes', 'account:read', 201, shapes.CREATED_SIGN_IN_CODE),
  define('GET /v1/account/members', 'account:read', 200, shapes.pageOf('members')),
  define('GET /v1/account/invitations', 'account:read', 200, shapes.pageOf('invitations')),
  define('GET /v1/webhooks', 'webhooks:read', 200, shapes.pageOf('webhooks')),
  define('POST /v1/webhooks', 'webhooks:write', 201, shapes.CREATED_WEBHOOK, { body: WEBHOOK_BODY }),
  define('GET /v1/webhooks/:webhook_id', 'webhooks:read', 200, shapes.WEBHOOK),
  define('PUT /v1/webhooks/:webhook_id', 'webhooks:write', 200, shapes.WEBHOOK, { body: WEBHOOK_BODY }),
  define('DELETE /v1/webhooks/:webhook_id', 'webhooks:write', 204, {}),
  define('GET /v1/webhooks/:webhook_id/deliveries', 'webhooks:read', 200, shapes.pageOf('deliveries')),
  define('GET /v1/webhooks/:webhook_id/deliveries/:delivery_id', 'webhooks:read', 200, shapes.SINGLE_DELIVERY),
  define('POST /v1/webhooks/:webhook_id/deliveries/:delivery_id/redeliver', 'webhooks:write', 202, shapes.DELIVERY),
  define('POST /v1/webhooks/:webhook_id/redeliver', 'webhooks:write', 202, shapes.REDELIVERY, {
    body: { status: 'failed' },
  }),
  define('POST /v1/webhooks/:webhook_id/test', 'webhooks:write', 200, shapes.TEST_CALL),
  define('GET /v1/recordings', 'recordings:read', 200, shapes.pageOf('recordings')),
  define('POST /v1/recordings', 'recordings:write', 201, shapes.CREATED_RECORDING, {
    takesToken: true,
    body: 'form',
  }),
  define('GET /v1/recordings/:recording_id', 'recordings:read', 200, shapes.SINGLE_RECORDING),
  define('PATCH /v1/recordings/:recording_id', 'recordings:write', 200, shapes.TITLED_RECORDING, {
    body: { title: 'Call with the north gate', custom_tags: { ticket: 'T-1042' } },
  }),
  define('GET /v1/recordings/:recording_id/callback', 'webhooks:read', 200, shapes.CALLBACK, { needs: 'callback' }),
  define('GET /v1/recordings/:recording_id/transcription', 'recordings:read', 200, shapes.TRANSCRIPTION, {
    needs: 'transcribed',
  }),
  define('PUT /v1/recordings/:recording_id/transcription', 'recordings:write', 200, shapes.TRANSCRIPTION, {
    needs: 'transcribed',
    body: { text: 'Hello, there.' },
  }),
  define('DELETE /v1/recordings/:recording_id/transcription', 'recordings:write', 204, {}, { needs: 'corrected' }),
  define('GET /v1/recordings/:recording_id/speakers', 'recordings:read', 200, shapes.SPEAKERS, {
    needs: 'transcribed',
  }),
  define('PUT /v1/recordings/:recording_id/speakers', 'recordings:write', 200, shapes.SPEAKERS, {
    needs: 'transcribed',
    body: { speakers: [] },
  }),
  define('GET /v1/recordings/:recording_id/transcriptions', 'recordings:read', 200, shapes.TRANSCRIPTION_VERSIONS),
  define('POST /v1/recordings/:recording_id/transcribe', 'recordings:write', 202, shapes.SINGLE_RECORDING, {
    needs: 'transcribed',
    body: { language: 'english' },
  }),
  define('POST /v1/recordings/:recording_id/retry', 'recordings:write', 202, shapes.SINGLE_RECORDING, {
    needs: 'failed',
  }),
  define('DELETE /v1/recordings/:recording_id', 'recordings:write', 204, {}),
  define('PUT /v1/recordings/:recording_id/hold', 'recordings:write', 200, shapes.HOLD, {
    body: { reason: 'Complaint C-1042' },
  }),
  define('DELETE /v1/recordings/:recording_id/hold', 'recordings:write', 204, {}),
  define('GET /v1/recordings/:recording_id/shares', 'recordings:read', 200, shapes.pageOf('shares')),
  define('POST /v1/recordings/:recording_id/shares', 'recordings:write', 201, shapes.CREATED_SHARE, {
    body: { audio: true },
  }),
  define('DELETE /v1/recordings/:recording_id/shares/:share_id', 'recordings:write', 204, {}),
  define('DELETE /v1/users/:user_id', 'account:write', 202, shapes.ERASED_USER),
  define('GET /v1/event-types', 'webhooks:read', 200, shapes.EVENT_TYPES),
  define('GET /v1/events', 'recordings:read', 200, shapes.EVENTS),
  define('GET /v1/events/stream', 'recordings:read', 200, {}, { isStream: true }),
  define('GET /v1/recordings/:recording_id/audio', 'recordings:read', 200, {}, { type: 'audio/wav' }),
  define('GET /v1/recordings/:recording_id/waveform', 'recordings:read', 200, shapes.WAVEFORM, {
    needs: 'transcribed',
  }),
  define('POST /v1/recordings/:recording_id/audio-url', 'recordings:read', 201, shapes.AUDIO_URL),
  define('POST /v1/audio/transcriptions', 'recordings:write', 200, shapes.COMPATIBLE_TRANSCRIPTION, {
    alsoScopes: ['recordings:read'],
    isCompatible: true,
    body: 'form',
  }),
  define('POST /v1/audio/translations', 'recordings:write', 200, shapes.COMPATIBLE_TRANSCRIPTION, {
    alsoScopes: ['recordings:read'],
    isCompatible: true,
    body: 'form',
  }),
  define('GET /v1/models', 'recordings:read', 200, shapes.MODELS, { isCompatible: true }),
  define('GET /v1/models/:model', 'recordings:read', 200, shapes.MODEL, { isCompatible: true }),
];

/** Operations that take no credentials or a session, and one that is no ordinary request. They have tests of their own. */
const OTHER_OPERATIONS = [
  'GET /v1/recordings/:recording_id/signed-audio',
  'POST /v1/account/sign-in-codes/exchange',
  'GET /v1/realtime',
  'POST /v1/shares/open',
  'GET /v1/shares/audio',
  'POST /v1/sessions',
  'GET /v1/sessions',
  'DELETE /v1/sessions/:session_id',
  'GET /v1/session',
  'PATCH /v1/session',
  'DELETE /v1/session',
  'PATCH /v1/session/person',
  'POST /v1/session/memberships',
  'DELETE /v1/session/memberships/:membership_id',
  'PATCH /v1/account/members/:member_id',
  'DELETE /v1/account/members/:member_id',
  'POST /v1/account/members/:member_id/links',
  'POST /v1/account/invitations',
  'DELETE /v1/account/invitations/:invitation_id',
  'POST /v1/invitations/open',
  'POST /v1/invitations/accept',
  'GET /v1/sign-in-providers',
  'GET /v1/session/passkeys',
  'POST /v1/session/passkeys/options',
  'POST /v1/session/passkeys',
  'PATCH /v1/session/passkeys/:passkey_id',
  'DELETE /v1/session/passkeys/:passkey_id',
  'POST /v1/sessions/passkey-options',
  'POST /v1/sessions/passkey',
  'POST /v1/sign-in-links',
];

/** Everything that the router has. */
export const ROUTES = [...OPERATIONS.map(nameOf), ...OTHER_OPERATIONS].toSorted();

function define(
  name: string,
  scope: Scope,
  success: number,
  shape: object,
  input: Omit<Operation, 'method' | 'path' | 'scope' | 'success' | 'shape'> = {},
): Operation {
  const [method, path] = name.split(' ') as [Operation['method'], string];
  return { method, path, scope, success, shape, ...input };
}

export function nameOf({ method, path }: Operation): string {
  return `${method} ${path}`;
}

/** For `it.each`: the name first. */
export const NAMED_OPERATIONS = OPERATIONS.map((operation) => [nameOf(operation), operation] as const);

/** A key, a token issuer, a webhook with a failed delivery, and a recording of the owner, with which the operation succeeds. For a service with ROLES=api. */
export async function createResources(
  service: TestService,
  owner: ApiClient,
  { needs }: Pick<Operation, 'needs'>,
): Promise<Ids> {
  const { credentials } = await service.key(owner, ['recordings:read']);
  const { body: issuer } = await owner.post('/v1/account/token-issuers', TOKEN_ISSUER_BODY).expect(201);
  const { body: webhook } = await owner.post('/v1/webhooks', CLOSED_PORT).expect(201);
  const recordingId = await upload(owner, needs === 'callback' ? CALLBACK : {});
  if (needs === 'transcribed' || needs === 'corrected') await transcribe(service, recordingId);
  if (needs === 'corrected') {
    await owner.put(`/v1/recordings/${recordingId}/transcription`, { text: 'Hello, there.' }).expect(200);
  }
  if (needs === 'failed') await fail(service, recordingId);
  const { body: share } = await owner.post(`/v1/recordings/${recordingId}/shares`, {}).expect(201);
  const webhookId = webhook.id as string;
  const deliveryId = await failDelivery(service, owner.accountId, webhookId);
  if (needs === 'export') await exportAccount(owner);
  return {
    key_id: credentials.id,
    token_issuer_id: issuer.id as string,
    webhook_id: webhookId,
    delivery_id: deliveryId,
    recording_id: recordingId,
    share_id: share.id as string,
  };
}

/** One set of resources for each need of an operation. */
export class SharedResources {
  private readonly made = new Map<Operation['needs'], Promise<Ids>>();

  constructor(
    private readonly service: TestService,
    readonly owner: ApiClient,
  ) {}

  /** For an operation that reads or is refused: all of them get the same. */
  of({ needs }: Pick<Operation, 'needs'>): Promise<Ids> {
    const ids = this.made.get(needs) ?? createResources(this.service, this.owner, { needs });
    this.made.set(needs, ids);
    return ids;
  }

  /** For an operation that succeeds: what it would change or delete is its own, and of an account of its own. */
  async forSuccess(operation: Operation): Promise<{ owner: ApiClient; ids: Ids }> {
    if (operation.method === 'GET') return { owner: this.owner, ids: await this.of(operation) };
    const owner = await this.service.account();
    return { owner, ids: await createResources(this.service, owner, operation) };
  }
}

/** @param headers credentials. */
export function call(
  { url, headers }: Pick<ApiClient, 'url' | 'headers'>,
  { method, path, body, isStream }: Pick<Operation, 'method' | 'path' | 'body' | 'isStream'>,
  ids: Ids,
  query = '',
): Test {
  const values: Record<string, string> = { ...ids, model: 'any', user_id: 'user-1' };
  const target = path.replace(/:(\w+)/g, (_, name: string) => values[name] ?? name) + query;
  const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
  const sending = request(url)[verb](target).set(headers);
  if (isStream) return sending.buffer(true).parse(readStart);
  if (body === 'form') return sending.attach('file', silenceWav(0.1), 'note.wav');
  return body === undefined ? sending : sending.send(body);
}

/** The first chunk of a stream, which is closed then; any other answer as JSON. */
const readStart: Parameters<Test['parse']>[0] = (answer, callback) => {
  const response = answer as unknown as IncomingMessage & { text: string };
  const isStream = response.headers['content-type']?.startsWith('text/event-stream') === true;
  let text = '';
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    response.text = text;
    if (!isStream) return;
    callback(null, {});
    response.destroy();
  });
  response.on('end', () => {
    if (!isStream) callback(null, JSON.parse(text));
  });
};
