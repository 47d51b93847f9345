import { isDatabaseUnavailable } from '../unavailable.js';

/** One line for an operator when Postgres cannot be reached; null for any other error. */
export function connectionErrorMessage(error: unknown, databaseUrl: string): string | null {
  if (error instanceof Error && /unsupported startup parameter/.test(error.message)) {
    return 'DATABASE_URL leads to a pooler in front of PostgreSQL: set DATABASE_POOLER=true.';
  }
  if (!isDatabaseUnavailable(error)) return null;
  const { hostname, port } = new URL(databaseUrl);
  return `Cannot reach PostgreSQL at ${hostname || 'localhost'}:${port || 5432} (DATABASE_URL).`;
}
