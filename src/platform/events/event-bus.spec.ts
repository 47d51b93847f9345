import type { Tx } from '../database/database.service.js';
import { EventBus } from './event-bus.js';

class NoteArrived {
  constructor(readonly id: string) {}
}
class UrgentNoteArrived extends NoteArrived {}
class NoteLeft {}

/** A transaction of which only the savepoint matters: what is done in one that fails is undone. */
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

  it('tells the listeners of the event’s class one after the other, in the order in which they came', async () => {
    bus.on(NoteArrived, async (event, inner) => {
      await new Promise(setImmediate);
      await write(`first ${event.id}`)(event, inner);
    });
    bus.on(NoteArrived, write('second'));
    bus.on(NoteLeft, write('another event'));
    await emit(new NoteArrived('1'));
    expect(tx.kept).toEqual(['first 1', 'second']);
  });

  it('tells listeners of a class about its subclasses, and not the other way round', async () => {
    bus.on(NoteArrived, write('any note'));
    bus.on(UrgentNoteArrived, write('an urgent note'));
    await emit(new NoteArrived('1'));
    await emit(new UrgentNoteArrived('2'));
    expect(tx.kept).toEqual(['any note', 'any note', 'an urgent note']);
  });

  it('undoes and counts what a listener did that failed, and goes on', async () => {
    bus.on(NoteArrived, write('before'));
    bus.on(NoteArrived, writeAndFail('extension'));
    bus.on(NoteArrived, write('after'));
    await emit(new NoteArrived('1'));
    expect(tx.kept).toEqual(['before', 'after']);
    expect(bus.listenerFailures).toBe(1);
  });

  it('refuses the change when a listener failed that must succeed, and tells nobody else', async () => {
    bus.on(NoteArrived, writeAndFail('core'), { mustSucceed: true });
    bus.on(NoteArrived, write('after'));
    await expect(emit(new NoteArrived('1'))).rejects.toThrow('core failed');
    expect(tx.kept).toEqual(['core']);
    expect(bus.listenerFailures).toBe(0);
  });

  it('has nothing to do for an event that nobody cares about', async () => {
    await emit(new NoteLeft());
    expect(tx.kept).toEqual([]);
  });
});
