import { Logger } from '@nestjs/common';
import type { SecretsService } from '../../../platform/secrets.service.js';
import { signDelivery } from './signature.js';
import { SignedSenderService, type UnsignedDelivery } from './signed-sender.service.js';
import type { OutgoingDelivery, WebhookSenderService } from './webhook-sender.service.js';

const OUTCOME = { status: 200, errorKind: null, error: null, response: '', retryAfter: null, durationMs: 1 };
const DELIVERY: UnsignedDelivery = {
  webhookId: 'webhook',
  url: 'https://hooks.example.com/a',
  encryptedSecret: 'encrypted new',
  previousEncryptedSecret: null,
  eventId: 'event',
  body: '{"name":"Zoë"}',
  attempt: 7,
};

describe('SignedSenderService', () => {
  let sent: OutgoingDelivery[];
  let unreadable: string[];
  let warn: jest.SpyInstance;
  let service: SignedSenderService;

  beforeEach(() => {
    sent = [];
    unreadable = [];
    warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    jest.spyOn(Date, 'now').mockReturnValue(1_800_000_000_999);
    const sender = { send: async (delivery: OutgoingDelivery) => (sent.push(delivery), OUTCOME) };
    const decrypt = (encrypted: string, id: string) => {
      if (unreadable.includes(encrypted)) throw new Error('lost');
      return `${encrypted.replace('encrypted', 'secret')} of ${id}`;
    };
    service = new SignedSenderService(
      sender as unknown as WebhookSenderService,
      { decrypt } as unknown as SecretsService,
    );
  });

  afterEach(() => jest.restoreAllMocks());

  const signed = (previousSecret: string | null) =>
    signDelivery({
      secret: 'secret new of webhook',
      previousSecret,
      eventId: 'event',
      timestampSeconds: 1_800_000_000,
      body: Buffer.from(DELIVERY.body),
    });

  it('sends the bytes of the body with its headers, signed at this second', async () => {
    const { signal } = new AbortController();
    expect(await service.send(DELIVERY, signal)).toBe(OUTCOME);
    expect(sent).toEqual([
      {
        url: DELIVERY.url,
        body: Buffer.from(DELIVERY.body),
        headers: {
          'Content-Type': 'application/json',
          'X-Service-Event-Id': 'event',
          'X-Service-Delivery-Attempt': '7',
          ...signed(null),
        },
        signal,
      },
    ]);
    await service.send(DELIVERY);
    expect(Object.keys(sent[1] as object)).not.toContain('signal');
  });

  it('signs with the previous secret, too, unless it cannot be read (D37)', async () => {
    const rotated = { ...DELIVERY, previousEncryptedSecret: 'encrypted old' };
    await service.send(rotated);
    expect(sent[0]?.headers).toMatchObject(signed('secret old of webhook'));
    unreadable = ['encrypted old'];
    await service.send(rotated);
    expect(sent[1]?.headers).toMatchObject(signed(null));
  });

  it('sends nothing when the secret cannot be read, and tells the operator', async () => {
    unreadable = ['encrypted new'];
    expect(await service.send(DELIVERY)).toMatchObject({ status: null, errorKind: 'secret', durationMs: 0 });
    expect(sent).toEqual([]);
    expect(warn.mock.calls).toEqual([
      [{ err: new Error('lost'), webhook_id: 'webhook' }, 'webhook secret not decrypted'],
    ]);
  });
});

const BODY = '{"event":"recording.transcribed","recording":{"id":"r1","custom_tags":{"ort":"Köln"}}}';

describe('signDelivery', () => {
  // Computed with OpenSSL: printf '%s' "$BODY" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$KEY
  it.each([
    [
      'whsec_ and base64: two keys',
      'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=',
      '2ff55fe0269df22f60a4d2d5456d3bca894661e55c38ca4165e812196ca8616a',
      'V5zHzdL0WuaCR+Wyw6VmrVASSHuOt51ZbMrWZfJw61A=',
    ],
    [
      'a secret of the customer’s own: its UTF-8 bytes for both',
      'my own secret – with a dash',
      '3843c9c6a3bcf61f7d4fac6141f8ec8d5df2a31ff63c58c4ded71c76bcfb1ebf',
      'to5ZjXMtyvOKU0gqvGSorffd5AuZgkwWOzGsWLav0E8=',
    ],
    [
      'whsec_ and no base64: its UTF-8 bytes for both',
      'whsec_not base64 at all',
      '10726b37e1df67cb3aa6fd8f8b51281e600992af63c71dd586e889e59385c8d3',
      '3niRbeqeZgjKqyVu8tuLH8rJludah7PX/hbZfO/EO88=',
    ],
  ])('agrees with OpenSSL: %s', (_name, secret, hex, base64) => {
    const headers = signDelivery({
      secret,
      eventId: 'evt_1',
      timestampSeconds: 1_700_000_000,
      body: Buffer.from(BODY),
    });

    expect(headers).toEqual({
      'X-Service-Signature': `sha256=${hex}`,
      'webhook-id': 'evt_1',
      'webhook-timestamp': '1700000000',
      'webhook-signature': `v1,${base64}`,
    });
  });

  it('signs the Standard Webhooks message with the previous secret, too, and the body with the new one alone (D37)', () => {
    const parts = { eventId: 'e', timestampSeconds: 1, body: Buffer.from('b') };
    const [fresh, old] = ['the new secret of it', 'the old secret of it'].map((secret) =>
      signDelivery({ ...parts, secret }),
    );
    const both = signDelivery({ ...parts, secret: 'the new secret of it', previousSecret: 'the old secret of it' });

    expect(both).toEqual({
      ...fresh,
      'webhook-signature': `${fresh?.['webhook-signature']} ${old?.['webhook-signature']}`,
    });
  });

  it.each(['whsec_', 'whsec_AAAA=', 'whsec_AAA', 'whsec_A-_A', 'whsec_=AAA'])('takes %s as text', (secret) => {
    const parts = { eventId: 'e', timestampSeconds: 1, body: Buffer.from('b') };
    const signatureOf = (given: string) => signDelivery({ ...parts, secret: given })['webhook-signature'];
    // The same bytes as a base64 secret must lead to the same key.
    expect(signatureOf(secret)).toBe(signatureOf(`whsec_${Buffer.from(secret).toString('base64')}`));
  });

  it('signs bytes, not text: what is no UTF-8 is not mended first', () => {
    const sign = (body: Buffer) => signDelivery({ secret: 'x', eventId: 'e', timestampSeconds: 1, body });
    expect(sign(Buffer.from([0xff]))).not.toEqual(sign(Buffer.from([0xfe])));
  });
});
