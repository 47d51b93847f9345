import type { RateLimit } from '../platform/config/env.js';

/** What an account may use (D32). Null is unlimited. */
export interface Quotas {
  /** Bytes of audio in the object store. */
  storedBytes: number | null;
  /** Audio uploaded in a calendar month (UTC), also of recordings deleted since. */
  audioSecondsPerMonth: number | null;
  /** Audio of recordings that wait for their transcription. */
  queuedAudioSeconds: number | null;
  /** Uploads at the same time, in all processes. */
  concurrentUploads: number | null;
}

/** As clients and operators read them. */
export const QUOTA_NAMES = {
  storedBytes: 'stored_bytes',
  audioSecondsPerMonth: 'audio_seconds_per_month',
  queuedAudioSeconds: 'queued_audio_seconds',
  concurrentUploads: 'concurrent_uploads',
} as const satisfies Record<keyof Quotas, string>;

export type QuotaName = (typeof QUOTA_NAMES)[keyof Quotas];

/** What an account's plan allows. */
export interface PlanDefinition {
  /** As stored and shown, such as `pro`. */
  name: string;
  /** Requests a minute, and at once. */
  limit: RateLimit;
  /** Whether an account on this plan can have its own limits instead. */
  ownLimits?: boolean;
  /** Those left out are the ones of `free`, so that a plan is unlimited only where it says so. */
  quotas?: Partial<Quotas>;
}

/** Name of a registered plan. */
export type Plan = string;

export const DEFAULT_PLAN = 'free';

const GIB = 2 ** 30;
const HOUR = 3600;

const FREE_QUOTAS: Quotas = {
  storedBytes: GIB,
  audioSecondsPerMonth: 10 * HOUR,
  queuedAudioSeconds: 2 * HOUR,
  concurrentUploads: 2,
};

/** The plans of the core (D5, D32), most restrictive first. */
const FREE: PlanDefinition = { name: DEFAULT_PLAN, limit: { rate: 10, burst: 20 }, quotas: FREE_QUOTAS };
const PRO: PlanDefinition = {
  name: 'pro',
  limit: { rate: 100, burst: 200 },
  quotas: {
    storedBytes: 100 * GIB,
    audioSecondsPerMonth: 500 * HOUR,
    queuedAudioSeconds: 20 * HOUR,
    concurrentUploads: 8,
  },
};
const ENTERPRISE: PlanDefinition = {
  name: 'enterprise',
  limit: { rate: 1000, burst: 2000 },
  ownLimits: true,
  quotas: {
    storedBytes: null,
    audioSecondsPerMonth: null,
    queuedAudioSeconds: 100 * HOUR,
    concurrentUploads: 32,
  },
};

const plans = new Map([FREE, PRO, ENTERPRISE].map((plan) => [plan.name, plan]));

/** Registering a plan again replaces it. */
export function registerPlan(plan: PlanDefinition): void {
  plans.set(plan.name, plan);
}

export const planNames = (): Plan[] => [...plans.keys()];

/** A plan that is no longer registered counts as the default plan, so that its accounts keep working. */
export const planOf = (name: Plan): PlanDefinition => plans.get(name) ?? FREE;

export const ACCOUNT_STATUSES = ['active', 'suspended'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

/** The limits in force. @param own figures set on the account; only plans with `ownLimits` use them. */
export function limitOf(plan: Plan, own: { rateLimit: number | null; burstLimit: number | null }): RateLimit {
  const { limit, ownLimits = false } = planOf(plan);
  if (!ownLimits) return { ...limit };
  const rate = own.rateLimit ?? limit.rate;
  return { rate, burst: own.burstLimit ?? Math.max(limit.burst, rate) };
}

/** Audio of a test account, for the days that it is kept. */
const TEST_STORED_BYTES = GIB / 4;

/** The quotas of a test account: no engine works for it, and its audio counts nowhere (D80). */
export const testQuotasOf = (plan: Plan): Quotas => ({
  ...quotasOf(plan, {}),
  storedBytes: TEST_STORED_BYTES,
  audioSecondsPerMonth: null,
  queuedAudioSeconds: null,
});

/** The quotas in force. @param own figures set on the account, for any plan. */
export const quotasOf = (plan: Plan, own: Partial<Quotas>): Quotas => ({
  ...FREE_QUOTAS,
  ...planOf(plan).quotas,
  ...own,
});
