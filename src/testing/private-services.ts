import type { Cleanup } from './cleanup.js';

export interface Servers {
  /** The user of this URL may create databases. */
  databaseUrl: string;
  redisUrl: string;
}

/**
 * The servers of TEST_DATABASE_URL and TEST_REDIS_URL, which `npm test` sets for all test files. Without them a
 * PostgreSQL and a Redis are started for this environment alone. DATABASE_URL is not used: tests clear what they find.
 */
export async function privateServices(cleanup: Cleanup): Promise<Servers> {
  const { TEST_DATABASE_URL: databaseUrl, TEST_REDIS_URL: redisUrl } = process.env;
  if (databaseUrl && redisUrl) return { databaseUrl, redisUrl };
  const { startTemporaryServices } = await import('../../scripts/lib/temporary-services.mjs');
  const { env, stop } = await startTemporaryServices();
  cleanup.add(stop);
  return { databaseUrl: env.DATABASE_URL, redisUrl: env.REDIS_URL };
}
