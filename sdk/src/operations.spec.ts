import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VoiceNotes } from './client.js';

const ID = '019aa5c1-0d3e-7a55-b0f4-9a1c2e7d4b60';

/** The method for each operation of the service, and what it sends. */
const METHODS: Record<string, (client: VoiceNotes) => unknown> = {
  'GET /v1/account': (client) => client.account.get(),
  'GET /v1/account/quotas': (client) => client.account.quotas(),
  'GET /v1/account/usage': (client) => client.account.usage(),
  'GET /v1/account/errors': (client) => client.account.errors({ days: 1 }),
  'GET /v1/account/vocabulary': (client) => client.account.vocabulary(),
  'PUT /v1/account/vocabulary': (client) => client.account.setVocabulary([]),
  'GET /v1/account/speakers': (client) => client.account.speakers(),
  'PUT /v1/account/speakers': (client) => client.account.setSpeakers('auto'),
  'GET /v1/account/retention': (client) => client.account.retention(),
  'PUT /v1/account/retention': (client) =>
    client.account.setRetention({ retain_audio_days: 30, retain_text_days: null, delete_audio_after: null }),
  'GET /v1/account/retention/upcoming': (client) => client.account.upcomingDeletions(),
  'PUT /v1/recordings/{recording_id}/hold': (client) => client.recordings.hold(ID, 'Complaint'),
  'DELETE /v1/recordings/{recording_id}/hold': (client) => client.recordings.releaseHold(ID),
  'GET /v1/account/api-keys': (client) => client.keys.list(),
  'POST /v1/account/api-keys': (client) => client.keys.create({ name: 'A key' }),
  'GET /v1/account/api-keys/{key_id}': (client) => client.keys.get(ID),
  'DELETE /v1/account/api-keys/{key_id}': (client) => client.keys.revoke(ID),
  'POST /v1/account/access-tokens': (client) => client.accessTokens.create({ identity: 'user-1' }),
  'DELETE /v1/account/access-tokens': (client) => client.accessTokens.void(),
  'POST /v1/account/sign-in-codes': (client) => client.account.createSignInCode(),
  'POST /v1/account/sign-in-codes/exchange': (client) => client.account.exchangeSignInCode('vnc_x'),
  'POST /v1/recordings': (client) => client.recordings.upload(new Uint8Array(1)),
  'GET /v1/recordings': (client) => client.recordings.list(),
  'GET /v1/recordings/{recording_id}': (client) => client.recordings.get(ID),
  'PATCH /v1/recordings/{recording_id}': (client) => client.recordings.update(ID, { title: 'A' }),
  'GET /v1/recordings/{recording_id}/callback': (client) => client.recordings.callback(ID),
  'DELETE /v1/recordings/{recording_id}': (client) => client.recordings.delete(ID),
  'POST /v1/recordings/{recording_id}/retry': (client) => client.recordings.retry(ID),
  'POST /v1/recordings/{recording_id}/transcribe': (client) => client.recordings.transcribeAgain(ID),
  'GET /v1/recordings/{recording_id}/transcription': (client) => client.recordings.transcription(ID),
  'PUT /v1/recordings/{recording_id}/transcription': (client) => client.recordings.correct(ID, { text: '' }),
  'DELETE /v1/recordings/{recording_id}/transcription': (client) => client.recordings.removeCorrection(ID),
  'GET /v1/recordings/{recording_id}/speakers': (client) => client.recordings.speakers(ID),
  'PUT /v1/recordings/{recording_id}/speakers': (client) => client.recordings.nameSpeakers(ID, []),
  'GET /v1/recordings/{recording_id}/transcriptions': (client) => client.recordings.versions(ID),
  'GET /v1/recordings/{recording_id}/audio': (client) => client.recordings.audio(ID),
  'POST /v1/recordings/{recording_id}/audio-url': (client) => client.recordings.audioUrl(ID),
  'GET /v1/recordings/{recording_id}/waveform': (client) => client.recordings.waveform(ID),
  'GET /v1/recordings/{recording_id}/shares': (client) => client.recordings.shares(ID),
  'POST /v1/recordings/{recording_id}/shares': (client) => client.recordings.share(ID),
  'DELETE /v1/recordings/{recording_id}/shares/{share_id}': (client) => client.recordings.endShare(ID, ID),
  'POST /v1/shares/open': (client) => client.recordings.openShare('vnsh_x'),
  'GET /v1/webhooks': (client) => client.webhooks.list(),
  'POST /v1/webhooks': (client) => client.webhooks.create({ url: 'https://hooks.example.com/', events: [] }),
  'GET /v1/webhooks/{webhook_id}': (client) => client.webhooks.get(ID),
  'PUT /v1/webhooks/{webhook_id}': (client) => client.webhooks.update(ID, { url: '', events: [] }),
  'DELETE /v1/webhooks/{webhook_id}': (client) => client.webhooks.delete(ID),
  'POST /v1/webhooks/{webhook_id}/test': (client) => client.webhooks.test(ID),
  'POST /v1/webhooks/{webhook_id}/redeliver': (client) => client.webhooks.redeliverMany(ID),
  'GET /v1/webhooks/{webhook_id}/deliveries': (client) => client.webhooks.deliveries(ID),
  'GET /v1/webhooks/{webhook_id}/deliveries/{delivery_id}': (client) => client.webhooks.delivery(ID, ID),
  'POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver': (client) => client.webhooks.redeliver(ID, ID),
  'GET /v1/event-types': (client) => client.events.types(),
  'GET /v1/events': (client) => client.events.list(),
  'GET /v1/events/stream': (client) => client.events.stream()[Symbol.asyncIterator]().next(),
  'DELETE /v1/users/{user_id}': (client) => client.users.erase('user-1'),
};

/** What players, clients of OpenAI and browsers use, and what an account sets up once. */
const OF_OTHERS = [
  'GET /v1/realtime',
  'GET /v1/recordings/{recording_id}/signed-audio',
  'GET /v1/shares/audio',
  'POST /v1/sessions',
  'GET /v1/sessions',
  'DELETE /v1/sessions/{session_id}',
  'GET /v1/session',
  'PATCH /v1/session',
  'DELETE /v1/session',
  'PATCH /v1/session/person',
  'GET /v1/sign-in-providers',
  'GET /v1/session/passkeys',
  'POST /v1/session/passkeys/options',
  'POST /v1/session/passkeys',
  'PATCH /v1/session/passkeys/{passkey_id}',
  'DELETE /v1/session/passkeys/{passkey_id}',
  'POST /v1/sessions/passkey-options',
  'POST /v1/sessions/passkey',
  'POST /v1/sign-in-links',
  'GET /v1/account/audit-log',
  'GET /v1/account/export',
  'POST /v1/account/export',
  'GET /v1/account/export/archive',
  'POST /v1/session/memberships',
  'DELETE /v1/session/memberships/{membership_id}',
  'GET /v1/account/members',
  'PATCH /v1/account/members/{member_id}',
  'DELETE /v1/account/members/{member_id}',
  'POST /v1/account/members/{member_id}/links',
  'GET /v1/account/invitations',
  'POST /v1/account/invitations',
  'DELETE /v1/account/invitations/{invitation_id}',
  'POST /v1/invitations/open',
  'POST /v1/invitations/accept',
  'GET /v1/account/audit-log/settings',
  'PUT /v1/account/audit-log/settings',
  'GET /v1/account/token-issuers',
  'POST /v1/account/token-issuers',
  'GET /v1/account/token-issuers/{token_issuer_id}',
  'PUT /v1/account/token-issuers/{token_issuer_id}',
  'DELETE /v1/account/token-issuers/{token_issuer_id}',
  'POST /v1/audio/transcriptions',
  'POST /v1/audio/translations',
  'GET /v1/models',
  'GET /v1/models/{model}',
];

interface Description {
  paths: Record<string, Record<string, unknown>>;
}

/** The operations of openapi.json. */
function describedOperations(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../openapi.json'), 'utf8');
  const { paths } = JSON.parse(text) as Description;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

/** The first request that a method sends. */
async function requestOf(call: (client: VoiceNotes) => unknown): Promise<string> {
  return await new Promise((resolve, reject) => {
    const fetch = (url: string, { method }: { method: string }): Promise<never> => {
      resolve(`${method} ${new URL(url).pathname}`);
      return Promise.reject(new TypeError('no network'));
    };
    const options = { baseUrl: 'http://localhost', key: 'k', secret: 's', maxRetries: 0 };
    const client = new VoiceNotes({ ...options, fetch: fetch as unknown as typeof globalThis.fetch });
    // A list is read once somebody waits for it.
    Promise.resolve(call(client)).then(() => reject(new Error('no request was sent')), reject);
  });
}

describe('the client', () => {
  it('has a method for each operation of the service, and for nothing else', () => {
    expect([...Object.keys(METHODS), ...OF_OTHERS].toSorted()).toEqual(describedOperations().toSorted());
  });

  it.each(Object.entries(METHODS))('sends %s', async (operation, call) => {
    const pattern = operation.replaceAll('/', String.raw`\/`).replaceAll(/\{\w+\}/g, '[^/]+');
    expect(await requestOf(call)).toMatch(new RegExp(`^${pattern}$`));
  });
});
