import type { Env } from '../../../platform/config/env.js';
import type { Repository } from 'typeorm';
import { NotFoundError } from '../../../platform/errors/errors.js';
import { DeliverySlots } from '../sending/delivery-slots.js';
import type { SignedSenderService, UnsignedDelivery } from '../sending/signed-sender.service.js';
import type { DeliveryOutcome } from '../sending/webhook-sender.service.js';
import type { Webhook } from '../webhook.entity.js';
import { TestCallsService } from './test-calls.service.js';

const ID = '019aa5c2-3b4c-7d5e-9f60-718293a4b5c6';
const ACCOUNT = 'account';
const OUTCOME: DeliveryOutcome = {
  status: 503,
  errorKind: null,
  error: null,
  response: 'no',
  retryAfter: '9',
  durationMs: 5,
};
const WEBHOOK = {
  id: ID,
  accountId: ACCOUNT,
  url: 'https://hooks.example.com:8443/a',
  encryptedSecret: 'new',
  previousEncryptedSecret: 'old',
  previousSecretUntil: null as Date | null,
};
const DESTINATION = { accountId: ACCOUNT, host: 'hooks.example.com', isFailing: false };

describe('TestCallsService', () => {
  let sent: UnsignedDelivery[];
  let slots: DeliverySlots;
  let answer: () => Promise<DeliveryOutcome>;
  let previousSecretUntil: Date | null;
  let tests: TestCallsService;

  beforeEach(() => {
    sent = [];
    slots = new DeliverySlots({ webhookConnections: 1, webhookConnectionsPerHost: 1 } as Env);
    answer = async () => OUTCOME;
    previousSecretUntil = null;
    const webhooks = {
      findOneBy: async ({ id, accountId }: { id: string; accountId: string }) =>
        id === ID && accountId === ACCOUNT ? { ...WEBHOOK, previousSecretUntil } : null,
    };
    const sender = {
      send: (delivery: UnsignedDelivery) => {
        sent.push(delivery);
        return answer();
      },
    };
    tests = new TestCallsService(
      webhooks as unknown as Repository<Webhook>,
      slots,
      sender as unknown as SignedSenderService,
    );
  });
  afterEach(() => jest.useRealTimers());

  it('sends one attempt in a slot of its host, and gives the slot back', async () => {
    let used = 0;
    answer = async () => {
      used = slots.used;
      return OUTCOME;
    };
    const { eventId, attempt } = await tests.send(ACCOUNT, ID);
    expect(used).toBe(1);
    expect(slots.used).toBe(0);
    expect(sent).toEqual([expect.objectContaining({ webhookId: ID, url: WEBHOOK.url, eventId, attempt: 1 })]);
    expect(attempt).toEqual({
      number: 1,
      startedAt: expect.any(Date),
      status: 503,
      error: null,
      reason: null,
      durationMs: 5,
      response: 'no',
    });
  });

  it.each([
    ['is over', -1000, null],
    ['lasts', 60_000, 'old'],
  ])('signs with the previous secret while its time %s', async (_, ms, previousEncryptedSecret) => {
    previousSecretUntil = new Date(Date.now() + ms);
    await tests.send(ACCOUNT, ID);
    expect(sent).toMatchObject([{ encryptedSecret: 'new', previousEncryptedSecret }]);
  });

  it('gives slot and place back after an error', async () => {
    answer = () => Promise.reject(new Error('a defect'));
    await expect(tests.send(ACCOUNT, ID)).rejects.toThrow('a defect');
    expect(slots.used).toBe(0);
    answer = async () => OUTCOME;
    await tests.send(ACCOUNT, ID);
  });

  it('waits 5 s for a connection, and sends when one is free by then', async () => {
    const held = slots.take(DESTINATION);
    const signal = jest.spyOn(AbortSignal, 'timeout');
    const test = tests.send(ACCOUNT, ID);
    await new Promise((resolve) => setImmediate(resolve));
    expect(signal.mock.calls).toEqual([[5000]]);
    expect(sent).toEqual([]);
    held?.release();
    await test;
    expect(sent).toHaveLength(1);
    signal.mockRestore();
  });

  it('is refused when none is free in time, and can be repeated', async () => {
    const held = slots.take(DESTINATION);
    const signal = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
    await expect(tests.send(ACCOUNT, ID)).rejects.toMatchObject({ status: 429 });
    expect(sent).toEqual([]);
    signal.mockRestore();
    held?.release();
    await tests.send(ACCOUNT, ID);
  });

  it('is refused while another of the account is in progress', async () => {
    let end: (outcome: DeliveryOutcome) => void = () => undefined;
    answer = () => new Promise((resolve) => (end = resolve));
    const first = tests.send(ACCOUNT, ID);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(tests.send(ACCOUNT, ID)).rejects.toMatchObject({ status: 429 });
    end(OUTCOME);
    await first;
    expect(sent).toHaveLength(1);
  });

  it('finds no webhook of another account', async () => {
    await expect(tests.send('another', ID)).rejects.toThrow(NotFoundError);
    expect(sent).toEqual([]);
  });
});
