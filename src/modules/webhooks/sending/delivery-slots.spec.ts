import type { Env } from '../../../platform/config/env.js';
import { DeliverySlots, type Slot } from './delivery-slots.js';

const to = (accountId: string, host = accountId, isFailing = false) => ({ accountId, host, isFailing });
const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));

function takeAll(slots: DeliverySlots, destination: ReturnType<typeof to>, count = Infinity): Slot[] {
  const taken: Slot[] = [];
  for (let slot = slots.take(destination); slot; slot = taken.length < count ? slots.take(destination) : null)
    taken.push(slot);
  return taken;
}

describe('DeliverySlots (D34)', () => {
  it('leaves connections for the next account, in all and to one host, whatever 20 others take', () => {
    const slots = new DeliverySlots({ webhookConnections: 2000, webhookConnectionsPerHost: 256 } as Env);
    expect(takeAll(slots, to('a0', 'one.example'))).toHaveLength(29);
    for (let i = 1; i < 20; i++) takeAll(slots, to(`a${i}`, 'one.example'));
    expect(slots.take(to('b', 'one.example'))).not.toBeNull();
    for (let i = 0; i < 20; i++) for (let j = 0; j < 20; j++) takeAll(slots, to(`a${i}`, `${i}-${j}.example`));
    expect(slots.used).toBeLessThan(1500);
    expect(slots.take(to('c'))).not.toBeNull();
  });

  it('limits the connections to a host across accounts', () => {
    const slots = new DeliverySlots({ webhookConnections: 1000, webhookConnectionsPerHost: 10 } as Env);
    let taken = 0;
    for (let i = 0; i < 50; i++) taken += takeAll(slots, to(`a${i}`, 'one.example')).length;
    expect(taken).toBe(10);
    expect(slots.take(to('b', 'two.example'))).not.toBeNull();
  });

  it('keeps three quarters for webhooks that do not fail, in all and for each host', () => {
    const slots = new DeliverySlots({ webhookConnections: 100, webhookConnectionsPerHost: 20 } as Env);
    let taken = 0;
    for (let i = 0; i < 100; i++) taken += takeAll(slots, to(`a${i}`, 'one.example', true)).length;
    expect(taken).toBe(5);
    for (let i = 0; i < 100; i++) taken += takeAll(slots, to(`a${i}`, `b${i}.example`, true)).length;
    expect(taken).toBe(25);
    expect(slots.take(to('c', 'one.example'))).not.toBeNull();
  });

  it('gives a freed slot to the waiting account that has the fewest', async () => {
    const slots = new DeliverySlots({ webhookConnections: 4, webhookConnectionsPerHost: 4 } as Env);
    const first = slots.take(to('a'));
    for (const account of ['b', 'c', 'e']) slots.take(to(account));
    const granted: string[] = [];
    const { signal } = new AbortController();
    for (const account of ['b', 'd']) void slots.wait(to(account), signal).then(() => granted.push(account));
    expect(slots.waiting).toBe(2);
    first?.release();
    first?.release();
    await passed();
    expect(granted).toEqual(['d']);
    expect(slots.used).toBe(4);
  });

  it('gives a freed slot to the account that has fewer elsewhere, although another has waited for longer', async () => {
    const slots = new DeliverySlots({ webhookConnections: 1000, webhookConnectionsPerHost: 1 } as Env);
    slots.take(to('b', 'two.example'));
    const slot = slots.take(to('a', 'one.example'));
    const granted: string[] = [];
    const { signal } = new AbortController();
    for (const account of ['b', 'd'])
      void slots.wait(to(account, 'one.example'), signal).then(() => granted.push(account));
    slot?.release();
    await passed();
    expect(granted).toEqual(['d']);
  });

  it('gives a freed slot also to a webhook that has waited for long', async () => {
    const slots = new DeliverySlots({ webhookConnections: 1, webhookConnectionsPerHost: 1 } as Env);
    const slot = slots.take(to('a'));
    let isGranted = false;
    void slots.wait(to('b'), new AbortController().signal).then(() => (isGranted = true));
    await passed();
    expect(isGranted).toBe(false);
    slot?.release();
    await passed();
    expect(isGranted).toBe(true);
  });

  it('forgets a wait that is cancelled', async () => {
    const slots = new DeliverySlots({ webhookConnections: 1, webhookConnectionsPerHost: 1 } as Env);
    const slot = slots.take(to('a'));
    const stop = new AbortController();
    const wait = slots.wait(to('b'), stop.signal);
    stop.abort();
    expect(await wait).toBeNull();
    slot?.release();
    expect([slots.waiting, slots.used]).toEqual([0, 0]);
  });

  it('leaves one connection to a webhook that fails, however few there are', () => {
    const slots = new DeliverySlots({ webhookConnections: 3, webhookConnectionsPerHost: 3 } as Env);
    expect(slots.take(to('a', 'one.example', true))).not.toBeNull();
    expect(slots.take(to('b', 'two.example', true))).toBeNull();
    expect(slots.take(to('b', 'two.example'))).not.toBeNull();
  });

  it('leaves one to each account while any is free', () => {
    const slots = new DeliverySlots({ webhookConnections: 4, webhookConnectionsPerHost: 4 } as Env);
    expect(takeAll(slots, to('a', 'one.example'))).toHaveLength(1);
    for (const account of ['b', 'c', 'd']) expect(slots.take(to(account, 'one.example'))).not.toBeNull();
    expect(slots.take(to('e', 'one.example'))).toBeNull();
  });

  it('returns a slot once, however often it is released', () => {
    const slots = new DeliverySlots({ webhookConnections: 40, webhookConnectionsPerHost: 40 } as Env);
    const [first] = takeAll(slots, to('a', 'one.example'), 2);
    slots.take(to('b', 'one.example'));
    const used = slots.used;
    first?.release();
    first?.release();
    expect(slots.used).toBe(used - 1);
  });

  it.each([
    [200, 0],
    [201, 20],
  ])('serves %i that wait after %i ms: each pass looks at all of them', async (waiting, ms) => {
    jest.useFakeTimers();
    const slots = new DeliverySlots({ webhookConnections: 1, webhookConnectionsPerHost: 1 } as Env);
    const held = slots.take(to('held'));
    let granted = 0;
    for (let i = 0; i < waiting; i++) void slots.wait(to(`a${i}`), new AbortController().signal).then(() => granted++);
    // The pass that the first of them began.
    await jest.advanceTimersByTimeAsync(0);
    held?.release();
    if (ms > 0) await jest.advanceTimersByTimeAsync(ms - 1);
    expect(granted).toBe(0);
    await jest.advanceTimersByTimeAsync(ms > 0 ? 1 : 0);
    expect([granted, slots.waiting]).toEqual([1, waiting - 1]);
    jest.useRealTimers();
  });
});
