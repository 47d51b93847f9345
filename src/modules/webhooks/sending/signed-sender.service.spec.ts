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
