import type { RateLimit } from '../../platform/config/env.js';

export const PLANS = ['free', 'pro', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

export const ACCOUNT_STATUSES = ['active', 'suspended'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

/** Requests a minute, and at once (D5). An enterprise account's own figures stand in its row. */
const LIMITS: Record<Plan, RateLimit> = {
  free: { rate: 10, burst: 20 },
  pro: { rate: 100, burst: 200 },
  enterprise: { rate: 1000, burst: 2000 },
};

/** @param own figures set on the account; only enterprise accounts heed them. */
export function limitOf(plan: Plan, own: { rateLimit: number | null; burstLimit: number | null }): RateLimit {
  const { rate, burst } = LIMITS[plan];
  if (plan !== 'enterprise') return { rate, burst };
  const ownRate = own.rateLimit ?? rate;
  return { rate: ownRate, burst: own.burstLimit ?? Math.max(burst, ownRate) };
}
