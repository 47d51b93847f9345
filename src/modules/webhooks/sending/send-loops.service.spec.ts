import type { Env } from '../../../platform/config/env.js';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import type { ReconcilerService } from '../../../platform/queue/reconciler.service.js';
import type { SecretsService } from '../../../platform/secrets.service.js';
import type { ClaimedDelivery } from '../deliveries/deliveries.queries.js';
import type { DeliveriesService } from '../deliveries/deliveries.service.js';
import { DeliverySlots } from './delivery-slots.js';
import { SendLoopsService } from './send-loops.service.js';
import { SignedSenderService } from './signed-sender.service.js';
import type { DeliveryOutcome, OutgoingDelivery, WebhookSenderService } from './webhook-sender.service.js';

/** Longer than a fast attempt takes. */
const SLOW_MS = 60;

const DELIVERED: DeliveryOutcome = {
  status: 200,
  errorKind: null,
  error: null,
  response: '',
  retryAfter: null,
  durationMs: 1,
};

/** Calls that the test answers one by one. */
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

/** Everything that needs no further answer has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('SendLoopsService (D29)', () => {
  let claims: Exchange<{ webhookId: string; count: number }, ClaimedDelivery[]>;
  let sends: Exchange<OutgoingDelivery, DeliveryOutcome>;
  let written: string[];
  let outcomes: DeliveryOutcome[];
  let decrypt: () => string;
  /** The outcome of an attempt that is cancelled. */
  let ofCancelled: DeliveryOutcome;
  let loops: SendLoopsService;
  /** Milliseconds, by which attempts are measured: a busy machine would make a fast one slow. */
  let clock: number;
  let made = 0;

  const delivery = (webhookId: string): ClaimedDelivery => ({
    id: `delivery-${++made}`,
    leaseToken: 'lease',
    webhookId,
    accountId: `account of ${webhookId}`,
    url: 'https://example.com',
    encryptedSecret: 'encrypted',
    previousEncryptedSecret: null,
    eventId: 'event',
    body: '{}',
    attempt: 1,
    attemptsBefore: 0,
    webhookIsFailing: false,
  });
  const deliveries = (webhookId: string, count: number) => Array.from({ length: count }, () => delivery(webhookId));

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    clock = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => clock);
    claims = new Exchange();
    sends = new Exchange();
    written = [];
    outcomes = [];
    decrypt = () => 'secret';
    ofCancelled = { ...DELIVERED, status: null, error: 'the attempt was cancelled' };
    const service: Partial<DeliveriesService> = {
      claim: (webhookId, count) => claims.ask({ webhookId, count }),
      record: async ({ id }, outcome) => {
        written.push(`recorded ${id}`);
        outcomes.push(outcome);
        return null;
      },
      release: async ({ id }) => void written.push(`released ${id}`),
    };
    const sender: Partial<WebhookSenderService> = {
      send: (outgoing) =>
        Promise.race([
          sends.ask(outgoing),
          new Promise<DeliveryOutcome>((resolve) => {
            outgoing.signal?.addEventListener('abort', () => resolve(ofCancelled));
          }),
        ]),
    };
    const secrets: Partial<SecretsService> = { decrypt: () => decrypt() };
    loops = new SendLoopsService(
      service as DeliveriesService,
      new SignedSenderService(sender as WebhookSenderService, secrets as SecretsService),
      new DeliverySlots({ webhookConnections: 100, webhookConnectionsPerHost: 100 } as Env),
      {} as ReconcilerService,
      new Registry(),
    );
  });

  afterEach(() => jest.restoreAllMocks());

  it('sends at most 4 deliveries of a webhook at a time, and for a slow one claims as many as have ended', async () => {
    loops.wake('a');
    expect(claims.open[0]?.question).toEqual({ webhookId: 'a', count: 4 });
    await claims.answerNext(deliveries('a', 4));
    expect(sends.open).toHaveLength(4);
    expect(claims.open).toHaveLength(0);
    clock += SLOW_MS;
    await sends.answerNext(DELIVERED);
    expect(claims.open[0]?.question).toEqual({ webhookId: 'a', count: 1 });
  });

  it('claims ahead for a fast webhook, and still sends 4 at a time', async () => {
    loops.wake('a');
    await claims.answerNext(deliveries('a', 4));
    await sends.answerNext(DELIVERED);
    expect(claims.open[0]?.question).toEqual({ webhookId: 'a', count: 16 });
    await claims.answerNext(deliveries('a', 16));
    expect(sends.open).toHaveLength(4);
    await sends.answerNext(DELIVERED);
    expect(sends.open).toHaveLength(4);
    expect(claims.open).toHaveLength(0);
  });

  it('sends one at a time to a webhook whose last attempt has failed, until one succeeds', async () => {
    loops.wake('a');
    await claims.answerNext([delivery('a')]);
    await claims.answerNext([]);
    await sends.answerNext({ ...DELIVERED, status: 500 });
    const failing = deliveries('a', 8).map((one) => ({ ...one, webhookIsFailing: true }));
    await claims.answerNext(failing);
    expect(sends.open).toHaveLength(1);
    await sends.answerNext({ ...DELIVERED, status: 500 });
    expect(sends.open).toHaveLength(1);
    await sends.answerNext(DELIVERED);
    expect(sends.open).toHaveLength(4);
  });

  it('releases what it claimed ahead after a long wait, and at shutdown', async () => {
    loops.wake('a');
    await claims.answerNext(deliveries('a', 4));
    await sends.answerNext(DELIVERED);
    await claims.answerNext(deliveries('a', 16));
    const date = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + 3001);
    await sends.answerNext(DELIVERED);
    date.mockRestore();
    expect(written.filter((line) => line.startsWith('released'))).toHaveLength(15);

    await claims.answerNext(deliveries('a', 16));
    const stopped = loops.onModuleDestroy();
    while (sends.open.length > 0) await sends.answerNext(DELIVERED);
    await stopped;
    expect(written.filter((line) => line.startsWith('released'))).toHaveLength(30);
    expect(written.filter((line) => line.startsWith('recorded'))).toHaveLength(6);
  });

  it('serves a second webhook while all deliveries of the first hang', async () => {
    loops.wake('a');
    await claims.answerNext(deliveries('a', 4));
    loops.wake('b');
    await claims.answerNext([delivery('b')]);
    expect(sends.open).toHaveLength(5);
  });

  it('loses no signal: one that comes during a claim leads to another claim', async () => {
    loops.wake('a');
    loops.wake('a');
    await claims.answerNext([]);
    expect(claims.open).toHaveLength(1);
    await claims.answerNext([]);
    expect(claims.open).toHaveLength(0);
  });

  it('claims again when signalled while a delivery is in progress', async () => {
    loops.wake('a');
    await claims.answerNext([delivery('a')]);
    await claims.answerNext([]);
    expect(claims.open).toHaveLength(0);
    loops.wake('a');
    await settled();
    expect(claims.open).toHaveLength(1);
  });

  it('holds a slot for each delivery in progress, and none when they have ended', async () => {
    loops.wake('a');
    await claims.answerNext(deliveries('a', 3));
    await claims.answerNext([]);
    expect(loops['slots'].used).toBe(3);
    for (let i = 0; i < 3; i++) await sends.answerNext(DELIVERED);
    while (claims.open.length > 0) await claims.answerNext([]);
    await settled();
    expect(loops['slots'].used).toBe(0);
  });

  it('releases what was claimed while it was stopped, and does not send it', async () => {
    loops.wake('a');
    const stopped = loops.onModuleDestroy();
    await claims.answerNext(deliveries('a', 2));
    await settled();
    expect(sends.open).toHaveLength(0);
    await stopped;
    expect(written).toEqual(Array(2).fill(expect.stringMatching(/^released/)));
    expect(loops['slots'].used).toBe(0);
  });

  it('starts a new loop after the last one has ended', async () => {
    loops.wake('a');
    await claims.answerNext([]);
    await settled();
    loops.wake('a');
    expect(claims.open).toHaveLength(1);
  });

  it('records a failed attempt for an unreadable secret, sends nothing, and continues', async () => {
    decrypt = () => {
      throw new Error('encrypted under another SECRET_KEY');
    };
    loops.wake('a');
    await claims.answerNext(deliveries('a', 2));
    expect(sends.open).toHaveLength(0);
    expect(written).toEqual(Array(2).fill(expect.stringMatching(/^recorded/)));
    const failed = {
      ...DELIVERED,
      response: null,
      status: null,
      errorKind: 'secret',
      error: "the webhook's secret cannot be read: set a new one",
      durationMs: 0,
    };
    expect(outcomes).toEqual([failed, failed]);
    decrypt = () => 'secret';
    await claims.answerNext([delivery('a')]);
    expect(sends.open).toHaveLength(1);
  });

  it('records a delivery that was accepted at the moment of its cancellation', async () => {
    ofCancelled = DELIVERED;
    loops.wake('a');
    await claims.answerNext([delivery('a')]);
    loops['stopping'].abort();
    await settled();
    expect(written).toEqual([expect.stringMatching(/^recorded/)]);
  });

  it('lets deliveries in progress finish at shutdown, and starts no new ones', async () => {
    loops.wake('a');
    await claims.answerNext([delivery('a')]);
    await claims.answerNext([]);
    const stopped = loops.onModuleDestroy();
    await settled();
    await sends.answerNext(DELIVERED);
    await stopped;
    expect(written).toEqual([expect.stringMatching(/^recorded/)]);
    loops.wake('a');
    expect(claims.open).toHaveLength(0);
  });
});
