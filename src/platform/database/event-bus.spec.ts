import type { Tx } from './database.service.js';
import { EventBus } from './event-bus.js';

class OrderPlaced {
  constructor(readonly id: string) {}
}
class ExpressOrderPlaced extends OrderPlaced {}
class OrderShipped {}

/** A transaction with nothing but savepoints: writes in a failed one are dropped. */
class FakeTx {
  readonly kept: string[] = [];

  async savepoint(work: (inner: FakeTx) => Promise<void>): Promise<void> {
    const inner = new FakeTx();
    await work(inner);
    this.kept.push(...inner.kept);
  }
}

const write =
  (what: string) =>
  async (_: unknown, tx: Tx): Promise<void> => {
    (tx as unknown as FakeTx).kept.push(what);
  };

const writeAndFail =
  (what: string) =>
  async (event: unknown, tx: Tx): Promise<void> => {
    await write(what)(event, tx);
    throw new Error(`${what} failed`);
  };

describe('EventBus', () => {
  let bus: EventBus;
  let tx: FakeTx;
  const emit = (event: object): Promise<void> => bus.emit(event, tx as unknown as Tx);

  beforeEach(() => {
    bus = new EventBus();
    Object.assign(bus, { logger: { error: () => undefined } });
    tx = new FakeTx();
  });

  it('calls the listeners of the event’s class one after the other, in the order of registration', async () => {
    bus.on(OrderPlaced, async (event, inner) => {
      await new Promise(setImmediate);
      await write(`first ${event.id}`)(event, inner);
    });
    bus.on(OrderPlaced, write('second'));
    bus.on(OrderShipped, write('another event'));
    await emit(new OrderPlaced('1'));
    expect(tx.kept).toEqual(['first 1', 'second']);
  });

  it('calls listeners of a class for its subclasses, and not the other way round', async () => {
    bus.on(OrderPlaced, write('any order'));
    bus.on(ExpressOrderPlaced, write('an express order'));
    await emit(new OrderPlaced('1'));
    await emit(new ExpressOrderPlaced('2'));
    expect(tx.kept).toEqual(['any order', 'any order', 'an express order']);
  });

  it('rolls back and counts a listener that failed, and calls the next', async () => {
    bus.on(OrderPlaced, write('before'));
    bus.on(OrderPlaced, writeAndFail('extension'));
    bus.on(OrderPlaced, write('after'));
    await emit(new OrderPlaced('1'));
    expect(tx.kept).toEqual(['before', 'after']);
    expect(bus.listenerFailures).toBe(1);
  });

  it('rejects when a listener failed that must succeed, and calls no other', async () => {
    bus.on(OrderPlaced, writeAndFail('core'), { mustSucceed: true });
    bus.on(OrderPlaced, write('after'));
    await expect(emit(new OrderPlaced('1'))).rejects.toThrow('core failed');
    expect(tx.kept).toEqual(['core']);
    expect(bus.listenerFailures).toBe(0);
  });

  it('accepts an event without listeners', async () => {
    await emit(new OrderShipped());
    expect(tx.kept).toEqual([]);
  });
});
