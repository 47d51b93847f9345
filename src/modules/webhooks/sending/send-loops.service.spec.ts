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

const deliveryTo = (webhookId: string, i = 0): ClaimedDelivery => ({
  id: `${webhookId}-${i}`,
  leaseToken: 'lease',
  webhookId,
  accountId: `account of ${webhookId}`,
  url: 'https://example.com',
  encryptedSecret: 'encrypted',
  previousEncryptedSecret: null,
  eventId: 'event',
  eventKind: 'recording.transcribed',
  recordingId: null,
  run: null,
  body: '{}',
  attempt: 1,
  attemptsBefore: 0,
  webhookIsFailing: false,
  dueSeconds: 0.1,
  isTakenOver: false,
  claimedAt: 0,
});

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
  let loops: SendLoopsService;
  /** Milliseconds, by which attempts are measured: a busy machine would make a fast one slow. */
  let clock: number;
  let made = 0;

  const delivery = (webhookId: string): ClaimedDelivery => deliveryTo(webhookId, ++made);
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
            outgoing.signal?.addEventListener('abort', () =>
              resolve({ ...DELIVERED, status: null, error: 'the attempt was cancelled' }),
            );
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

function outcomeOf(result: number | DeliveryOutcome['errorKind']): DeliveryOutcome {
  const status = typeof result === 'number' ? result : null;
  const errorKind = typeof result === 'number' ? null : result;
  return { status, errorKind, error: errorKind, response: null, retryAfter: null, durationMs: 1 };
}

describe('SendLoopsService: what it counts, limits and saves', () => {
  /** Deliveries that are due, by webhook. */
  let due: Map<string, ClaimedDelivery[]>;
  let send: (delivery: ClaimedDelivery, signal: AbortSignal) => Promise<DeliveryOutcome>;
  let service: Record<'claim' | 'record' | 'release' | 'webhooksWithDue' | 'oldestDueSeconds', jest.Mock>;
  let register: jest.Mock;
  let registry: Registry;
  let slots: DeliverySlots;
  let warn: jest.SpyInstance;
  let loops: SendLoopsService;

  beforeEach(() => {
    due = new Map();
    send = async () => outcomeOf(200);
    service = {
      claim: jest.fn(async (webhookId: string, count: number) => due.get(webhookId)?.splice(0, count) ?? []),
      record: jest.fn(async () => null),
      release: jest.fn(async () => undefined),
      webhooksWithDue: jest.fn(async () => ['a', 'b']),
      oldestDueSeconds: jest.fn(async () => 7.5),
    };
    register = jest.fn();
    registry = new Registry();
    slots = new DeliverySlots({ webhookConnections: 100, webhookConnectionsPerHost: 100 } as Env);
    warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    loops = new SendLoopsService(
      service as unknown as DeliveriesService,
      { send: (...parameters: Parameters<typeof send>) => send(...parameters) } as unknown as SignedSenderService,
      slots,
      { register } as unknown as ReconcilerService,
      registry,
    );
  });

  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const valuesOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values;

  /** Resolves when every loop has ended. */
  async function ended(): Promise<void> {
    while (loops['loops'].size > 0) await settled();
  }

  it('looks for due deliveries in every process that sends, and wakes the loop of each webhook', async () => {
    loops.onModuleInit();
    expect(register.mock.calls).toEqual([['send due deliveries', expect.any(Function), { everyProcess: true }]]);
    await register.mock.calls[0][1]();
    expect(service.claim.mock.calls.map(([webhookId]) => webhookId)).toEqual(['a', 'b']);
    await ended();
  });

  it.each([
    [599_999, 2],
    [600_000, 1],
    [null, 1],
  ])('looks for a next attempt in %p ms when it is due, but for one that is far away', async (delayMs, claims) => {
    due.set('a', [deliveryTo('a')]);
    send = async () => outcomeOf(500);
    service.record.mockResolvedValue(delayMs);
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] });
    loops.wake('a');
    await ended();
    service.claim.mockClear();
    await jest.advanceTimersByTimeAsync(600_001);
    await ended();
    expect(service.claim.mock.calls).toHaveLength(claims - 1);
  });

  it('counts attempts by the class of the status, or by the error', async () => {
    const results = [200, 299, 301, 404, 499, 503, 'dns', 'timeout', 'timeout'] as const;
    const left = [...results];
    due.set(
      'a',
      results.map((_, i) => deliveryTo('a', i)),
    );
    send = async () => outcomeOf(left.shift() ?? null);
    loops.wake('a');
    await ended();
    expect(await valuesOf('webhook_attempts_total')).toEqual([
      { labels: { outcome: '2xx' }, value: 2 },
      { labels: { outcome: '3xx' }, value: 1 },
      { labels: { outcome: '4xx' }, value: 2 },
      { labels: { outcome: '5xx' }, value: 1 },
      { labels: { outcome: 'dns' }, value: 1 },
      { labels: { outcome: 'timeout' }, value: 2 },
    ]);
  });

  it('counts first attempts to receivers that work, and those that began within 5 s of the event', async () => {
    const now = performance.now();
    const attempts = [
      { dueSeconds: 5 },
      { dueSeconds: 5.1 },
      { dueSeconds: 2.5, claimedAt: now - 3000 },
      { dueSeconds: 1, attempt: 2 },
      { dueSeconds: 90, webhookIsFailing: true },
      { dueSeconds: 33, attempt: 2, isTakenOver: true },
    ];
    jest.spyOn(performance, 'now').mockReturnValue(now);
    due.set(
      'a',
      attempts.map((own, i) => ({ ...deliveryTo('a', i), claimedAt: now, ...own })),
    );
    send = async () => outcomeOf(200);
    loops.wake('a');
    await ended();
    expect(await valuesOf('webhook_first_attempts_total')).toEqual([{ labels: {}, value: 3 }]);
    expect(await valuesOf('webhook_first_attempts_on_time_total')).toEqual([{ labels: {}, value: 1 }]);
    expect(await valuesOf('repairs_total')).toContainEqual({ labels: { kind: 'delivery_taken_over' }, value: 1 });
  });

  it.each([
    ['found in Postgres after a second', true, 1.5, 1],
    ['found in Postgres before its job came', true, 0.5, 0],
    ['woken by its job', false, 1.5, 0],
  ])('counts a lost job for a first attempt %s: %s', async (_, isFound, dueSeconds, lost) => {
    const now = performance.now();
    due.set('a', [{ ...deliveryTo('a'), dueSeconds, claimedAt: now }]);
    jest.spyOn(performance, 'now').mockReturnValue(now);
    send = async () => outcomeOf(200);
    loops.wake('a', isFound);
    await ended();
    expect(await valuesOf('repairs_total')).toContainEqual({ labels: { kind: 'delivery_job_lost' }, value: lost });
  });

  it('shows how long the delivery that waits for the service has been due, and nothing without Postgres', async () => {
    expect(await valuesOf('deliveries_waiting_seconds')).toEqual([{ labels: {}, value: 7.5 }]);
    service.oldestDueSeconds.mockRejectedValue(new Error('no connection'));
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_001);
    expect(await valuesOf('deliveries_waiting_seconds')).toEqual([]);
  });

  it('shows the connections in use, and the webhooks that wait for one', async () => {
    const taken = slots.take({ accountId: 'a', host: 'h', isFailing: false });
    slots.take({ accountId: 'b', host: 'h', isFailing: false });
    expect(await valuesOf('webhook_connections')).toEqual([{ labels: {}, value: 2 }]);
    expect(await valuesOf('webhooks_waiting')).toEqual([{ labels: {}, value: 0 }]);
    taken?.release();
    expect(await valuesOf('webhook_connections')).toEqual([{ labels: {}, value: 1 }]);
    const full = new DeliverySlots({ webhookConnections: 1, webhookConnectionsPerHost: 1 } as Env);
    full.take({ accountId: 'a', host: 'h', isFailing: false });
    void full.wait({ accountId: 'b', host: 'h', isFailing: false }, new AbortController().signal);
    jest.spyOn(slots, 'waiting', 'get').mockReturnValue(full.waiting);
    expect(await valuesOf('webhooks_waiting')).toEqual([{ labels: {}, value: 1 }]);
  });

  it('asks for a slot of the account and of the host without its port, as one that fails or not', async () => {
    const take = jest.spyOn(slots, 'take');
    due.set('a', [{ ...deliveryTo('a'), url: 'https://hooks.example.com:8443/a', webhookIsFailing: true }]);
    send = async () => {
      expect(slots.used).toBe(1);
      return outcomeOf(200);
    };
    loops.wake('a');
    await ended();
    const [[destination]] = take.mock.calls as [[object]];
    // Its attempt has succeeded since.
    expect(destination).toEqual({ accountId: 'account of a', host: 'hooks.example.com', isFailing: false });
    due.set('a', [deliveryTo('a', 1)]);
    send = async () => outcomeOf(500);
    loops.wake('a');
    await ended();
    expect(take.mock.calls.at(-1)).toEqual([{ accountId: 'account of a', host: 'example.com', isFailing: true }]);
    expect(slots.used).toBe(0);
  });

  it('releases a delivery that our own proxy has kept from its receiver, counts nothing, and tries no others of the webhook', async () => {
    due.set(
      'a',
      Array.from({ length: 9 }, (_, i) => deliveryTo('a', i)),
    );
    send = async () => ({ ...outcomeOf('connect'), isOurs: true });
    loops.wake('a');
    await ended();
    expect(service.record).not.toHaveBeenCalled();
    expect(service.claim).toHaveBeenCalledTimes(1);
    expect(service.release).toHaveBeenCalledTimes(9 - (due.get('a')?.length ?? 0));
    expect(await valuesOf('webhook_attempts_total')).toEqual([]);
    expect(slots.used).toBe(0);
    // The next look for due deliveries.
    send = async () => outcomeOf(200);
    loops.wake('a');
    await ended();
    expect(service.record).toHaveBeenCalled();
  });

  it('gives the outcome with the start of its attempt', async () => {
    due.set('a', [deliveryTo('a')]);
    const before = performance.now();
    loops.wake('a');
    await ended();
    const [[delivery, outcome, startedAt]] = service.record.mock.calls as [[ClaimedDelivery, object, number]];
    expect([delivery.id, outcome]).toEqual(['a-0', outcomeOf(200)]);
    expect(startedAt).toBeGreaterThanOrEqual(before);
    expect(startedAt).toBeLessThanOrEqual(performance.now());
  });

  it('saves an outcome again until Postgres answers', async () => {
    due.set('a', [deliveryTo('a')]);
    service.record.mockRejectedValueOnce(Object.assign(new Error('lost'), { code: '08006' }));
    loops.wake('a');
    await ended();
    expect(service.record).toHaveBeenCalledTimes(2);
    expect(warn).not.toHaveBeenCalled();
  });

  it('logs an outcome that cannot be saved, and goes on with the next', async () => {
    due.set('a', [deliveryTo('a', 1), deliveryTo('a', 2)]);
    const error = new Error('a defect');
    service.record.mockRejectedValueOnce(error);
    loops.wake('a');
    await ended();
    expect(warn.mock.calls).toEqual([[{ err: error, delivery_id: 'a-1' }, 'delivery outcome not saved']]);
    expect(service.record).toHaveBeenCalledTimes(2);
  });

  it('logs a loop that crashed, gives its slots back, and starts another at the next signal', async () => {
    const error = new Error('no database');
    service.claim.mockRejectedValueOnce(error);
    loops.wake('a');
    await ended();
    expect(warn.mock.calls).toEqual([[{ err: error, webhook_id: 'a' }, 'webhook send loop crashed']]);
    expect(slots.used).toBe(0);
    due.set('a', [deliveryTo('a')]);
    loops.wake('a');
    await ended();
    expect(service.record).toHaveBeenCalledTimes(1);
  });

  it('claims for 8 webhooks at a time, and serves 10,000 at most', async () => {
    service.claim.mockReturnValue(new Promise(() => undefined));
    for (let i = 0; i < 10_001; i++) loops.wake(`webhook ${i}`);
    await settled();
    expect(service.claim).toHaveBeenCalledTimes(8);
    expect(loops['loops'].size).toBe(10_000);
    expect(loops['loops'].has('webhook 10000')).toBe(false);
  });

  it('releases what it claimed ahead when no slot is free, and goes on with the rest', async () => {
    // By a real clock a busy machine makes a fast attempt slow, and then fewer are claimed.
    jest.spyOn(performance, 'now').mockReturnValue(0);
    due.set(
      'a',
      Array.from({ length: 30 }, (_, i) => deliveryTo('a', i)),
    );
    const take = jest.spyOn(slots, 'take');
    let sent = 0;
    send = async () => {
      // From the sixth on others have all.
      if (++sent === 6) take.mockReturnValue(null);
      return outcomeOf(200);
    };
    loops.wake('a');
    for (let i = 0; i < 20; i++) await settled();
    const claimed = 30 - (due.get('a')?.length ?? 0);
    expect(claimed).toBe(20);
    expect(service.record.mock.calls.length + service.release.mock.calls.length).toBe(claimed);
    expect(service.release.mock.calls.length).toBeGreaterThan(8);
    take.mockRestore();
    // A slot that is given back wakes those that wait.
    slots.take({ accountId: 'other', host: 'other', isFailing: false })?.release();
    await ended();
    expect(due.get('a')).toEqual([]);
  });

  it('cancels an attempt after 5 s of a shutdown, releases its delivery and does not count it', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    due.set('a', [deliveryTo('a')]);
    let cancelled = false;
    send = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          cancelled = true;
          resolve(outcomeOf('reset'));
        });
      });
    loops.wake('a');
    await settled();
    const stopped = loops.onModuleDestroy();
    await jest.advanceTimersByTimeAsync(4999);
    expect(cancelled).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    await stopped;
    expect(cancelled).toBe(true);
    expect(service.release.mock.calls).toEqual([[expect.objectContaining({ id: 'a-0' })]]);
    expect(service.record).not.toHaveBeenCalled();
    expect(await valuesOf('webhook_attempts_total')).toEqual([]);
  });

  it('records an answer that came in spite of the cancellation', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    due.set('a', [deliveryTo('a')]);
    send = (_, signal) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(outcomeOf(200)));
      });
    loops.wake('a');
    await settled();
    const stopped = loops.onModuleDestroy();
    await jest.advanceTimersByTimeAsync(5000);
    await stopped;
    expect(service.record).toHaveBeenCalledTimes(1);
    expect(service.release).not.toHaveBeenCalled();
  });
});
