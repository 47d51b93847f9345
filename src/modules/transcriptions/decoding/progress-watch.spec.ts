import { ProgressWatch } from './progress-watch.js';

describe('ProgressWatch', () => {
  let isStopped: boolean;
  let watch: ProgressWatch;

  beforeEach(() => {
    jest.useFakeTimers();
    isStopped = false;
    watch = new ProgressWatch(process.pid, () => (isStopped = true));
  });

  afterEach(() => {
    watch.stop();
    jest.useRealTimers();
  });

  const pass = (seconds: number) => jest.advanceTimersByTime(seconds * 1000);

  it('stops a decoder that has no output for a minute', () => {
    pass(60);
    expect(isStopped).toBe(false);
    pass(1);
    expect([isStopped, watch.stopReason]).toEqual([true, 'hung']);
  });

  it('does not count the time in which the reader is busy with the output', () => {
    pass(50);
    watch.pause();
    pass(3600);
    expect(isStopped).toBe(false);
    watch.resume();
    pass(60);
    expect(isStopped).toBe(false);
    pass(1);
    expect([isStopped, watch.stopReason]).toEqual([true, 'hung']);
  });

  it('begins anew with each output, also where none is being processed when it looks', () => {
    for (let i = 0; i < 100; i++) {
      pass(1.1);
      watch.pause();
      watch.resume();
    }
    expect([isStopped, watch.stopReason]).toEqual([false, null]);
  });
});
