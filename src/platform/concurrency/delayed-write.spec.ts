import { DelayedWrite } from './delayed-write.js';

const MS = 1000;

describe('DelayedWrite', () => {
  let writes: (() => void)[];
  let delayed: DelayedWrite;

  beforeEach(() => {
    jest.useFakeTimers();
    writes = [];
    delayed = new DelayedWrite(MS, () => new Promise((resolve) => writes.push(resolve)));
  });

  afterEach(() => jest.useRealTimers());

  it('writes once, that time after the first of several calls', async () => {
    delayed.schedule();
    await jest.advanceTimersByTimeAsync(MS - 1);
    delayed.schedule();
    expect(writes).toHaveLength(0);
    await jest.advanceTimersByTimeAsync(1);
    expect(writes).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(2 * MS);
    expect(writes).toHaveLength(1);
  });

  it('writes again what is collected after that', async () => {
    for (const times of [1, 2]) {
      delayed.schedule();
      await jest.advanceTimersByTimeAsync(MS);
      expect(writes).toHaveLength(times);
      writes.at(-1)?.();
    }
  });

  it('writes at once when it is flushed, and then not when the time is over', async () => {
    delayed.schedule();
    const flushed = delayed.flush();
    await jest.advanceTimersByTimeAsync(0);
    writes[0]?.();
    await flushed;
    await jest.advanceTimersByTimeAsync(2 * MS);
    expect(writes).toHaveLength(1);
  });

  it('writes one after the other, and a flush waits for all of them', async () => {
    const ended: string[] = [];
    void delayed.flush().then(() => ended.push('first'));
    void delayed.flush().then(() => ended.push('second'));
    await jest.advanceTimersByTimeAsync(0);
    expect(writes).toHaveLength(1);
    writes[0]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect([writes.length, ended]).toEqual([2, ['first']]);
    writes[1]?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(ended).toEqual(['first', 'second']);
  });
});
