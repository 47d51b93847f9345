import { signDelivery } from '../../../src/modules/webhooks/sending/signature.js';
import { verifyWebhook, type WebhookHeaders } from './verify-webhook.js';
import { WebhookVerificationError } from './webhook-error.js';

const BODY =
  '{"event":"recording.transcribed","timestamp":"2026-11-21T10:00:09Z","recording":{"id":"r1","custom_tags":{"ort":"Köln 🎙"}}}';
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const now = () => Math.floor(Date.now() / 1000);

/** As the service signs it. */
function signed(secret: string, { body = BODY, age = 0, previousSecret = null as string | null } = {}) {
  const parts = { secret, previousSecret, eventId: 'evt_1', timestampSeconds: now() - age, body: Buffer.from(body) };
  return { 'X-Service-Event-Id': 'evt_1', ...signDelivery(parts) };
}

const reasonOf = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    () => 'verified',
    (error: unknown) => (error instanceof WebhookVerificationError ? error.reason : error),
  );

describe('verifyWebhook', () => {
  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['whsec_ and base64', SECRET],
    ['text', 'my own secret – with a dash'],
    ['whsec_ and no base64', 'whsec_not base64 at all'],
    ['whsec_ and base64 without padding', 'whsec_AAA'],
  ])('accepts what the service signs with a secret of %s', async (_name, secret) => {
    const event = await verifyWebhook(BODY, signed(secret), secret);
    expect(event).toEqual({ ...(JSON.parse(BODY) as object), id: 'evt_1' });
    expect(event.event === 'recording.transcribed' && event.recording.id).toBe('r1');
    const { 'X-Service-Signature': signature = '' } = signed(secret) as Record<string, string>;
    const bodyOnly = verifyWebhook(BODY, { 'x-service-signature': signature }, secret, { tolerance: Infinity });
    expect(await reasonOf(bodyOnly)).toBe('verified');
  });

  it.each<[string, (headers: Record<string, string>) => WebhookHeaders]>([
    ['Headers', (headers) => new Headers(headers)],
    ['a Map', (headers) => new Map(Object.entries(headers))],
    ['what Node gives', (headers) => Object.fromEntries(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]))],
    ['lists of values', (headers) => Object.fromEntries(Object.entries(headers).map(([k, v]) => [k, [v]]))],
  ])('takes headers as %s', async (_name, convert) => {
    expect(await reasonOf(verifyWebhook(BODY, convert(signed(SECRET)), SECRET))).toBe('verified');
  });

  it('takes the body as text, bytes and ArrayBuffer, and refuses a parsed one', async () => {
    const bytes = Buffer.concat([Buffer.from('x'), Buffer.from(BODY)]).subarray(1);
    const bodies = [BODY, bytes, new Uint8Array(bytes).buffer];
    for (const body of bodies) expect(await reasonOf(verifyWebhook(body, signed(SECRET), SECRET))).toBe('verified');
    const parsed = verifyWebhook(JSON.parse(BODY) as string, signed(SECRET), SECRET);
    await expect(parsed).rejects.toThrow(/raw body/);
  });

  it('accepts either secret while a secret is changed, and any of several', async () => {
    const rotating = signed(SECRET, { previousSecret: 'the secret before it' });
    expect(await reasonOf(verifyWebhook(BODY, rotating, 'the secret before it'))).toBe('verified');
    expect(await reasonOf(verifyWebhook(BODY, rotating, ['another secret', SECRET]))).toBe('verified');
    expect(await reasonOf(verifyWebhook(BODY, rotating, ['another secret']))).toBe('wrong_signature');
  });

  it.each<[string, string, Record<string, string | undefined>, string?]>([
    ['changed', 'wrong_signature', {}, BODY.replace('r1', 'r2')],
    ['of another id', 'wrong_signature', { 'webhook-id': 'evt_2' }],
    ['of another time', 'wrong_signature', { 'webhook-timestamp': String(now() - 1) }],
    [
      'without webhook-signature, though X-Service-Signature fits',
      'missing_header',
      { 'webhook-signature': undefined },
    ],
    ['without webhook-id', 'missing_header', { 'webhook-id': undefined }],
    ['without webhook-timestamp', 'missing_header', { 'webhook-timestamp': undefined }],
    ['with a date for a time', 'invalid_header', { 'webhook-timestamp': '2026-11-21' }],
    ['with an empty signature', 'wrong_signature', { 'webhook-signature': '' }],
  ])('refuses a delivery that is %s: %s', async (_name, reason, headers, body = BODY) => {
    expect(await reasonOf(verifyWebhook(body, { ...signed(SECRET), ...headers }, SECRET))).toBe(reason);
  });

  it('refuses what is too old or too new, by the tolerance', async () => {
    const verify = (age: number, tolerance?: number) =>
      reasonOf(verifyWebhook(BODY, signed(SECRET, { age }), SECRET, tolerance === undefined ? {} : { tolerance }));
    jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_000);
    expect(await verify(300)).toBe('verified');
    expect(await verify(301)).toBe('too_old');
    expect(await verify(-300)).toBe('verified');
    expect(await verify(-301)).toBe('too_new');
    expect(await verify(10, 10)).toBe('verified');
    expect(await verify(11, 10)).toBe('too_old');
    expect(await verify(1e6, Infinity)).toBe('verified');
  });

  it('refuses a signed body that is no event, and a secret that is not there', async () => {
    const noEvent = '["x"]';
    expect(await reasonOf(verifyWebhook(noEvent, signed(SECRET, { body: noEvent }), SECRET))).toBe('invalid_body');
    for (const secrets of ['', [], [''], undefined as unknown as string]) {
      await expect(verifyWebhook(BODY, signed(SECRET), secrets)).rejects.toThrow(/secrets must be/);
    }
  });

  it('agrees with the example in docs/interface.md', async () => {
    const body =
      '{"event":"recording.transcribed","timestamp":"2026-03-14T09:26:56Z","recording":{"id":"019cebab-8995-70ed-ba38-36f681e74ef5","status":"transcribed","duration":11,"format":"wav","identity":"user-42","created_at":"2026-03-14T09:26:53Z","completed_at":"2026-03-14T09:26:56Z","custom_tags":{"ticket":"T-1009"}}}';
    const headers = {
      'X-Service-Signature': 'sha256=d7ba7c5dd3627c5b4574a562f2999987f4a6e4ba2f5eebc30618d8d662f31b7f',
    };
    expect(await reasonOf(verifyWebhook(body, headers, SECRET, { tolerance: Infinity }))).toBe('verified');
  });
});
