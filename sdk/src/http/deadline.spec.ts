import { Deadline } from './deadline.js';
import { TimeoutError } from './errors.js';

describe('Deadline', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('aborts when nothing has come for the time, which begins again with what comes', () => {
    const deadline = new Deadline(null, 100);
    jest.advanceTimersByTime(90);
    deadline.restart();
    jest.advanceTimersByTime(90);
    expect(deadline.signal.aborted).toBe(false);
    deadline.pause();
    jest.advanceTimersByTime(1000);
    expect(deadline.signal.aborted).toBe(false);
    deadline.restart();
    jest.advanceTimersByTime(100);
    expect(deadline.signal.reason).toBeInstanceOf(TimeoutError);
  });

  it('starts no time again after its end: a timer would hold the process', () => {
    const deadline = new Deadline(null, 100);
    deadline.end();
    deadline.restart();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('aborts with the reason of the caller, also of one who has left before', () => {
    const caller = new AbortController();
    const deadline = new Deadline(caller.signal, 100);
    caller.abort('gone');
    expect(deadline.signal.reason).toBe('gone');
    expect(new Deadline(caller.signal, 100).signal.reason).toBe('gone');
    deadline.end();
  });
});
