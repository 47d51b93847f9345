import type { Env } from '../../../platform/config/env.js';
import type { ClaimedDelivery } from '../deliveries/deliveries.queries.js';
import { DeliverySlots } from './delivery-slots.js';
import { ClaimAhead, WebhookSendLoop } from './webhook-send-loop.js';

const DELIVERY = { accountId: 'a', url: 'https://hooks.example.com/', webhookIsFailing: false } as ClaimedDelivery;

describe('WebhookSendLoop', () => {
  const slots = () => new DeliverySlots({ webhookConnections: 1000, webhookConnectionsPerHost: 1000 } as Env);
  const release = jest.fn(async () => undefined);

  it('gives back every slot when a claim fails', async () => {
    const limits = slots();
    const claim = jest.fn().mockResolvedValueOnce([DELIVERY]).mockRejectedValue(new Error('no connection'));
    const loop = new WebhookSendLoop({ claim, release, deliver: async () => true }, limits);
    loop.signal();
    await expect(loop.run()).rejects.toThrow('no connection');
    expect([claim.mock.calls.length, limits.used]).toEqual([2, 0]);
  });

  it('gives back the slot that it was waiting for when it is closed', async () => {
    const limits = new DeliverySlots({ webhookConnections: 1, webhookConnectionsPerHost: 1 } as Env);
    const held = limits.take({ accountId: 'b', host: 'other.example.com', isFailing: false });
    const claim = jest.fn().mockResolvedValue([DELIVERY]);
    const loop = new WebhookSendLoop({ claim, release, deliver: async () => true }, limits);
    const ended = loop.run();
    while (limits.waiting === 0) await new Promise(setImmediate);
    expect(limits.waiting).toBe(1);
    loop.close();
    await ended;
    held?.release();
    expect([limits.waiting, limits.used]).toEqual([0, 0]);
  });
});

describe('ClaimAhead', () => {
  let asked: number[];
  let due: number;
  let released: string[];
  let ahead: ClaimAhead;

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_800_000_000_000 });
    asked = [];
    due = Infinity;
    released = [];
    let made = 0;
    ahead = new ClaimAhead({
      claim: async (count) => {
        asked.push(count);
        const found = Math.min(count, due);
        return Array.from({ length: found }, () => ({ id: `${made++}` }) as ClaimedDelivery);
      },
      release: async ({ id }) => void released.push(id),
    });
  });
  afterEach(() => jest.useRealTimers());

  const take = async (count: number, lastAttemptMs: number) =>
    (await ahead.take(count, lastAttemptMs)).map(({ id }) => id).join(' ');

  it.each([
    [0, 16],
    [50, 16],
    [50.1, 3],
    [Infinity, 3],
  ])('after an attempt of %d ms claims %i for 3', async (lastAttemptMs, claimed) => {
    expect(await take(3, lastAttemptMs)).toBe('0 1 2');
    expect(asked).toEqual([claimed]);
  });

  it('claims again only when all that it claimed are taken', async () => {
    expect(await take(10, 1)).toBe('0 1 2 3 4 5 6 7 8 9');
    expect(await take(10, 1)).toBe('10 11 12 13 14 15');
    expect(asked).toEqual([16]);
    expect(await take(2, 1)).toBe('16 17');
    expect(asked).toEqual([16, 16]);
  });

  it('keeps what it claimed for 3 s, and releases it then', async () => {
    await take(14, 1);
    jest.advanceTimersByTime(3000);
    expect(await take(1, 1)).toBe('14');
    jest.advanceTimersByTime(1);
    expect(await take(1, 1)).toBe('16');
    expect(released).toEqual(['15']);
  });

  it('releases all when nothing can be sent, and claims nothing', async () => {
    await take(14, 1);
    expect(await take(0, 1)).toBe('');
    expect(released).toEqual(['14', '15']);
    expect(asked).toEqual([16]);
    expect(await take(0, 1)).toBe('');
    expect(asked).toEqual([16]);
  });

  it('gives none when none is due', async () => {
    due = 0;
    expect(await take(4, 1)).toBe('');
    expect(released).toEqual([]);
  });
});
