import { sharedRun } from './shared-run.js';

describe('sharedRun', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('is shared by concurrent calls, and not kept after them', async () => {
    let runs = 0;
    const run = sharedRun(async () => ++runs);
    expect(await Promise.all([run(), run()])).toEqual([1, 1]);
    expect(await run()).toBe(2);
  });

  it('is kept for its time, which starts when it ends', async () => {
    let runs = 0;
    const run = sharedRun(async () => {
      jest.advanceTimersByTime(30);
      return ++runs;
    }, 20);
    expect(await run()).toBe(1);
    jest.advanceTimersByTime(19);
    expect(await run()).toBe(1);
    jest.advanceTimersByTime(1);
    expect(await run()).toBe(2);
  });

  it('is not kept when it fails', async () => {
    let runs = 0;
    const run = sharedRun(async () => {
      if (++runs === 1) throw new Error('failed');
      return runs;
    }, 1000);
    const both = [run(), run()];
    for (const one of both) await expect(one).rejects.toThrow('failed');
    expect([await run(), await run()]).toEqual([2, 2]);
  });
});
