/** For `src/testing`. The other scripts are not type-checked. */
export function startTemporaryServices(): Promise<{
  env: { DATABASE_URL: string; REDIS_URL: string };
  stop: () => Promise<void>;
}>;
