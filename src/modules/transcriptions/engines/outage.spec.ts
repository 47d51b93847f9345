import { Outage } from './outage.js';

describe('Outage', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('waits 5 s, then as long as it has lasted, and never more than 5 minutes', () => {
    const outage = new Outage();
    const waits = Array.from({ length: 10 }, () => {
      const seconds = outage.fail('no quota');
      jest.advanceTimersByTime(seconds * 1000);
      return seconds;
    });
    expect(waits).toEqual([5, 5, 10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('counts failures that come during one wait once', () => {
    const outage = new Outage();
    expect(outage.fail('no quota')).toBe(5);
    jest.advanceTimersByTime(2000);
    expect([outage.fail('no quota'), outage.fail('no quota')]).toEqual([3, 3]);
  });

  it('is a problem until the next success, and is waited for until the next try', () => {
    const outage = new Outage();
    expect([outage.problem, outage.waitsFor]).toEqual([null, null]);
    outage.fail('no quota');
    expect([outage.problem, outage.waitsFor]).toEqual(['no quota', 'no quota']);
    jest.advanceTimersByTime(5000);
    expect([outage.problem, outage.waitsFor]).toEqual(['no quota', null]);
    outage.end();
    expect([outage.problem, outage.waitsFor]).toEqual([null, null]);
  });

  it('rounds a wait up to whole seconds, and begins anew after a success', () => {
    const outage = new Outage();
    expect(outage.waitSeconds).toBe(0);
    outage.fail('no quota');
    jest.advanceTimersByTime(2400);
    expect([outage.waitSeconds, outage.fail('no quota')]).toEqual([3, 3]);
    jest.advanceTimersByTime(2600);
    expect(outage.waitSeconds).toBe(0);
    jest.advanceTimersByTime(60_000);
    expect(outage.fail('no quota')).toBe(65);
    outage.end();
    expect([outage.waitSeconds, outage.fail('no key'), outage.problem]).toEqual([0, 5, 'no key']);
  });
});
