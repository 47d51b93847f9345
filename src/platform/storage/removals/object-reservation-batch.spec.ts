import type { SqlRunner } from '../../database/database.service.js';
import { ObjectReservationBatch } from './object-reservation-batch.js';

/** Answers a statement when the test says so. */
class FakeRunner implements SqlRunner {
  readonly statements: { keys: string[]; seconds: number; settle: (error?: Error) => void }[] = [];

  query(): Promise<never[]> {
    throw new Error('not used');
  }

  prepared<Row>(_: string, [keys, seconds]: unknown[]): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => (error ? reject(error) : resolve([]));
      this.statements.push({ keys: keys as string[], seconds: seconds as number, settle });
    });
  }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('ObjectReservationBatch', () => {
  it('shares one statement among the reservations that came while another was under way', async () => {
    const runner = new FakeRunner();
    const batch = new ObjectReservationBatch(runner);
    const first = batch.reserve('a');
    await turn();
    const others = [batch.reserve('b'), batch.reserve('c')];
    await turn();
    expect(runner.statements.map(({ keys }) => keys)).toEqual([['a']]);
    runner.statements[0]?.settle();
    await first;
    await turn();
    expect(runner.statements.map(({ keys }) => keys)).toEqual([['a'], ['b', 'c']]);
    runner.statements[1]?.settle();
    await Promise.all(others);
  });

  it('resolves when the statement has ended, not before, and reserves for an hour', async () => {
    const runner = new FakeRunner();
    let isReserved = false;
    const reserving = new ObjectReservationBatch(runner).reserve('a').then(() => (isReserved = true));
    await turn();
    await turn();
    expect(runner.statements[0]?.seconds).toBe(3600);
    expect(isReserved).toBe(false);
    runner.statements[0]?.settle();
    await reserving;
  });

  it('fails the reservations of a failed statement, and continues with the next', async () => {
    const runner = new FakeRunner();
    const batch = new ObjectReservationBatch(runner);
    const first = batch.reserve('a');
    await turn();
    runner.statements[0]?.settle(new Error('no connection'));
    await expect(first).rejects.toThrow('no connection');
    const second = batch.reserve('b');
    await turn();
    runner.statements[1]?.settle();
    await second;
  });
});
