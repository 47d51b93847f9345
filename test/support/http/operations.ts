import request, { type Test } from 'supertest';
import type { Scope } from '../../../src/access/scopes.js';
import { silenceWav } from '../audio/audio-bytes.js';
import type { ApiClient } from './api-client.js';
import type { TestService } from '../service/test-service.js';
import { fail, transcribe, upload } from '../state/recording-states.js';

/** One operation of the interface, with an input that it takes. */
export interface Operation {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As the router spells it. */
  path: string;
  /** D10. */
  scope: Scope;
  /** Status of its success. */
  success: number;
  /** An end user's access token will do, too (D15). */
  takesToken?: true;
  /** JSON that it takes, or an upload form. */
  body?: object | 'form';
  /** The state in which a recording must be for it to succeed; any, when left out. */
  needs?: 'transcribed' | 'failed';
}

/** What path parameters are filled with. */
export interface Ids {
  key_id: string;
  webhook_id: string;
  recording_id: string;
}

const WEBHOOK = { url: 'https://hooks.example.com/notes', events: ['recording.transcribed'] };

/** Every operation there is; the tests that walk it compare it with the router first. */
export const OPERATIONS: Operation[] = [
  { method: 'GET', path: '/v1/account', scope: 'account:read', success: 200 },
  { method: 'GET', path: '/v1/account/api-keys', scope: 'account:read', success: 200 },
  { method: 'POST', path: '/v1/account/api-keys', scope: 'account:write', success: 201, body: { name: 'A key' } },
  { method: 'GET', path: '/v1/account/api-keys/:key_id', scope: 'account:read', success: 200 },
  { method: 'DELETE', path: '/v1/account/api-keys/:key_id', scope: 'account:write', success: 204 },
  {
    method: 'POST',
    path: '/v1/account/access-tokens',
    scope: 'recordings:write',
    success: 201,
    body: { identity: 'user-1' },
  },
  { method: 'GET', path: '/v1/webhooks', scope: 'webhooks:read', success: 200 },
  { method: 'POST', path: '/v1/webhooks', scope: 'webhooks:write', success: 201, body: WEBHOOK },
  { method: 'GET', path: '/v1/webhooks/:webhook_id', scope: 'webhooks:read', success: 200 },
  { method: 'PUT', path: '/v1/webhooks/:webhook_id', scope: 'webhooks:write', success: 200, body: WEBHOOK },
  { method: 'DELETE', path: '/v1/webhooks/:webhook_id', scope: 'webhooks:write', success: 204 },
  { method: 'GET', path: '/v1/recordings', scope: 'recordings:read', success: 200 },
  {
    method: 'POST',
    path: '/v1/recordings',
    scope: 'recordings:write',
    success: 201,
    takesToken: true,
    body: 'form',
  },
  { method: 'GET', path: '/v1/recordings/:recording_id', scope: 'recordings:read', success: 200 },
  {
    method: 'GET',
    path: '/v1/recordings/:recording_id/transcription',
    scope: 'recordings:read',
    success: 200,
    needs: 'transcribed',
  },
  {
    method: 'POST',
    path: '/v1/recordings/:recording_id/retry',
    scope: 'recordings:write',
    success: 202,
    needs: 'failed',
  },
  { method: 'DELETE', path: '/v1/recordings/:recording_id', scope: 'recordings:write', success: 204 },
];

export const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;

/** For `it.each`: the name first. */
export const NAMED_OPERATIONS = OPERATIONS.map((operation) => [nameOf(operation), operation] as const);

/** A key, a webhook and a recording of the owner, with which the operation succeeds. For a service with ROLES=api. */
export async function createResources(service: TestService, owner: ApiClient, { needs }: Operation): Promise<Ids> {
  const { credentials } = await service.key(owner, ['recordings:read']);
  const { body: webhook } = await owner.post('/v1/webhooks', WEBHOOK).expect(201);
  const recordingId = await upload(owner);
  if (needs === 'transcribed') await transcribe(service, recordingId);
  if (needs === 'failed') await fail(service, recordingId);
  return { key_id: credentials.id, webhook_id: webhook.id as string, recording_id: recordingId };
}

/** @param headers credentials. */
export function call(
  { url, headers }: Pick<ApiClient, 'url' | 'headers'>,
  { method, path, body }: Operation,
  ids: Ids,
  query = '',
): Test {
  const target = path.replace(/:(\w+)/g, (_, name: keyof Ids) => ids[name]) + query;
  const verb = method.toLowerCase() as 'get' | 'post' | 'put' | 'delete';
  const sending = request(url)[verb](target).set(headers);
  if (body === 'form') return sending.attach('file', silenceWav(0.1), 'note.wav');
  return body === undefined ? sending : sending.send(body);
}
