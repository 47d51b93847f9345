import type { Tx } from '../platform/database/database.service.js';

/** SQL, because the entity of the table belongs to a module. 0 when the account was deleted. */
export async function readCredentialVersion(tx: Tx, accountId: string): Promise<number> {
  const [row] = await tx.query<{ version: number }>(
    'SELECT credential_version AS version FROM accounts WHERE id = $1',
    [accountId],
  );
  return row?.version ?? 0;
}
