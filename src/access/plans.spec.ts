import { limitOf, planNames, planOf, type Quotas, quotasOf, registerPlan } from './plans.js';

const NONE = { rateLimit: null, burstLimit: null };
const GIB = 1_073_741_824;
const HOUR = 3600;

describe('plans (D5, D32)', () => {
  it.each<[plan: string, rate: number, burst: number, quotas: Quotas]>([
    [
      'free',
      10,
      20,
      { storedBytes: GIB, audioSecondsPerMonth: 10 * HOUR, queuedAudioSeconds: 2 * HOUR, concurrentUploads: 2 },
    ],
    [
      'pro',
      100,
      200,
      { storedBytes: 100 * GIB, audioSecondsPerMonth: 500 * HOUR, queuedAudioSeconds: 20 * HOUR, concurrentUploads: 8 },
    ],
    [
      'enterprise',
      1000,
      2000,
      { storedBytes: null, audioSecondsPerMonth: null, queuedAudioSeconds: 100 * HOUR, concurrentUploads: 32 },
    ],
  ])('%s allows %d requests a minute, %d at once, and its quotas', (plan, rate, burst, quotas) => {
    expect(limitOf(plan, NONE)).toEqual({ rate, burst });
    expect(quotasOf(plan, {})).toEqual(quotas);
  });

  it.each([
    [500, null, 500, 2000],
    [3000, null, 3000, 3000],
    [null, 1500, 1000, 1500],
    [50, 60, 50, 60],
  ])('enterprise with its own rate %s and burst %s has %d and %d', (rateLimit, burstLimit, rate, burst) => {
    expect(limitOf('enterprise', { rateLimit, burstLimit })).toEqual({ rate, burst });
  });

  it.each(['free', 'pro'])('%s ignores limits of its own', (plan) => {
    expect(limitOf(plan, { rateLimit: 5, burstLimit: 5 })).toEqual(limitOf(plan, NONE));
  });

  it('has the quotas of the account in place of the plan’s, none among them, whatever the plan', () => {
    const own = { storedBytes: 5, audioSecondsPerMonth: null };
    expect(quotasOf('pro', own)).toEqual({ ...quotasOf('pro', {}), ...own });
  });

  it('of an extension have the quotas of free where they name none, and may be replaced', () => {
    const names = planNames();
    expect(names).toEqual(['free', 'pro', 'enterprise']);
    registerPlan({ name: 'trial', limit: { rate: 1, burst: 2 }, quotas: { concurrentUploads: null } });
    registerPlan({ name: 'trial', limit: { rate: 3, burst: 4 }, quotas: { concurrentUploads: null } });
    expect(planNames()).toEqual([...names, 'trial']);
    expect(limitOf('trial', { rateLimit: 9, burstLimit: 9 })).toEqual({ rate: 3, burst: 4 });
    expect(quotasOf('trial', {})).toEqual({ ...quotasOf('free', {}), concurrentUploads: null });
  });

  it('that are gone count as free', () => {
    expect(planOf('gone').name).toBe('free');
    expect(limitOf('gone', { rateLimit: 9, burstLimit: 9 })).toEqual({ rate: 10, burst: 20 });
  });

  it('are not changed by who reads their limits', () => {
    limitOf('free', NONE).rate = 0;
    expect(limitOf('free', NONE).rate).toBe(10);
  });
});
