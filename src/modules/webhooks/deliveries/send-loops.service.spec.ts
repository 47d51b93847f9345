import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { SecretsService } from '../../../platform/secrets/secrets.service.js';
import type { ClaimedDelivery, DeliveriesService } from './deliveries.service.js';
import { SendLoopsService } from './send-loops.service.js';
import type { DeliveryOutcome, OutgoingDelivery, WebhookSenderService } from '../sending/webhook-sender.service.js';

/** Longer than a fast attempt takes. */
const SLOW_MS = 60;

const DELIVERED: DeliveryOutcome = { status: 200, error: null, retryAfter: null, durationMs: 1 };

/** Something that is asked and answered by the test, in its own time. */
class Exchange<Question, Answer> {
  readonly open: { question: Question; answer: (answer: Answer) => void }[] = [];

  ask(question: Question): Promise<Answer> {
    return new Promise((answer) => this.open.push({ question, answer }));
  }

  async answerNext(answer: Answer): Promise<void> {
    this.open.shift()?.answer(answer);
    await settled();
  }
}

/** Everything that can go on without a further answer has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('DeliveryLanes (D29)', () => {
  let claims: Exchange<{ webhookId: string; count: number }, ClaimedDelivery[]>;
  let sends: Exchange<OutgoingDelivery, DeliveryOutcome>;
  let written: string[];
  let outcomes: DeliveryOutcome[];
  let decrypt: () => string;
  let lanes: SendLoopsService;
  let made = 0;

  const delivery = (webhookId: string): ClaimedDelivery => ({
    id: `delivery-${++made}`,
    leaseToken: 'lease',
    webhookId,
    url: 'https://example.com',
    encryptedSecret: 'sealed',
    eventId: 'event',
    body: '{}',
    attempt: 1,
    webhookIsFailing: false,
  });
  const deliveries = (webhookId: string, count: number) => Array.from({ length: count }, () => delivery(webhookId));

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    claims = new Exchange();
    sends = new Exchange();
    written = [];
    outcomes = [];
    decrypt = () => 'secret';
    const service: Partial<DeliveriesService> = {
      claim: (webhookId, count) => claims.ask({ webhookId, count }),
      record: async ({ id }, outcome) => {
        written.push(`recorded ${id}`);
        outcomes.push(outcome);
      },
      release: async ({ id }) => void written.push(`handed back ${id}`),
    };
    const sender: Partial<WebhookSenderService> = {
      send: (outgoing) =>
        Promise.race([
          sends.ask(outgoing),
          new Promise<DeliveryOutcome>((resolve) => {
            const cancelled = { ...DELIVERED, status: null, error: 'the attempt was cancelled' };
            outgoing.signal?.addEventListener('abort', () => resolve(cancelled));
          }),
        ]),
    };
    const secrets: Partial<SecretsService> = { decrypt: () => decrypt() };
    lanes = new SendLoopsService(
      service as DeliveriesService,
      sender as WebhookSenderService,
      secrets as SecretsService,
    );
  });

  it('sends at most 4 deliveries of a webhook at a time, and of a slow one claims as many as have ended', async () => {
    lanes.wake('a');
    expect(claims.open[0]?.question).toEqual({ webhookId: 'a', count: 4 });
    await claims.answerNext(deliveries('a', 4));
    expect(sends.open).toHaveLength(4);
    expect(claims.open).toHaveLength(0);
    await delay(SLOW_MS);
    await sends.answerNext(DELIVERED);
    expect(claims.open[0]?.question).toEqual({ webhookId: 'a', count: 1 });
  });

  it('claims ahead for a fast one, and still sends it 4 at a time', async () => {
    lanes.wake('a');
    await claims.answerNext(deliveries('a', 4));
    await sends.answerNext(DELIVERED);
    expect(claims.open[0]?.question).toEqual({ webhookId: 'a', count: 16 });
    await claims.answerNext(deliveries('a', 16));
    expect(sends.open).toHaveLength(4);
    await sends.answerNext(DELIVERED);
    expect(sends.open).toHaveLength(4);
    expect(claims.open).toHaveLength(0);
  });

  it('hands back what it has claimed ahead when that has waited too long, and when the process stops', async () => {
    lanes.wake('a');
    await claims.answerNext(deliveries('a', 4));
    await sends.answerNext(DELIVERED);
    await claims.answerNext(deliveries('a', 16));
    jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3001);
    await sends.answerNext(DELIVERED);
    jest.restoreAllMocks();
    expect(written.filter((line) => line.startsWith('handed back'))).toHaveLength(15);

    await claims.answerNext(deliveries('a', 16));
    const stopped = lanes.onModuleDestroy();
    while (sends.open.length > 0) await sends.answerNext(DELIVERED);
    await stopped;
    expect(written.filter((line) => line.startsWith('handed back'))).toHaveLength(30);
    expect(written.filter((line) => line.startsWith('recorded'))).toHaveLength(6);
  });

  it('serves a second webhook while all of the first one’s deliveries hang', async () => {
    lanes.wake('a');
    await claims.answerNext(deliveries('a', 4));
    lanes.wake('b');
    await claims.answerNext([delivery('b')]);
    expect(sends.open).toHaveLength(5);
  });

  it('never misses a ring: one that comes while a look is under way leads to another look', async () => {
    lanes.wake('a');
    lanes.wake('a');
    await claims.answerNext([]);
    expect(claims.open).toHaveLength(1);
    await claims.answerNext([]);
    expect(claims.open).toHaveLength(0);
  });

  it('looks again when it is rung for while a delivery is under way', async () => {
    lanes.wake('a');
    await claims.answerNext([delivery('a')]);
    await claims.answerNext([]);
    expect(claims.open).toHaveLength(0);
    lanes.wake('a');
    await settled();
    expect(claims.open).toHaveLength(1);
  });

  it('opens a lane anew after it has ended', async () => {
    lanes.wake('a');
    await claims.answerNext([]);
    await settled();
    lanes.wake('a');
    expect(claims.open).toHaveLength(1);
  });

  it('takes a secret that cannot be read for a failed attempt, sends nothing, and goes on', async () => {
    decrypt = () => {
      throw new Error('encrypted under another SECRET_KEY');
    };
    lanes.wake('a');
    await claims.answerNext(deliveries('a', 2));
    expect(sends.open).toHaveLength(0);
    expect(written).toEqual(Array(2).fill(expect.stringMatching(/^recorded/)));
    const failed = {
      ...DELIVERED,
      status: null,
      error: "the webhook's secret cannot be read: set a new one",
      durationMs: 0,
    };
    expect(outcomes).toEqual([failed, failed]);
    decrypt = () => 'secret';
    await claims.answerNext([delivery('a')]);
    expect(sends.open).toHaveLength(1);
  });

  it('lets what is under way end well when the process stops, and takes nothing new', async () => {
    lanes.wake('a');
    await claims.answerNext([delivery('a')]);
    await claims.answerNext([]);
    const stopped = lanes.onModuleDestroy();
    await settled();
    await sends.answerNext(DELIVERED);
    await stopped;
    expect(written).toEqual([expect.stringMatching(/^recorded/)]);
    lanes.wake('a');
    expect(claims.open).toHaveLength(0);
  });
});
