import { auditTarget, recordChanges } from '../../../access/audit-trail.js';
import type { SqlRunner, Tx } from '../../../platform/database/database.service.js';
import { Membership } from '../membership.entity.js';

/** Such a person is let in by the provider alone, which may say no at any time. */
export async function isOfProvider(runner: SqlRunner, personId: string): Promise<boolean> {
  const identities = await runner.query('SELECT FROM identities WHERE person_id = $1 LIMIT 1', [personId]);
  return identities.length > 0;
}

/** In the audit log of each account to which the person belongs, without the names of the passkeys. */
export async function recordPasskeys(tx: Tx, personId: string, action: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const memberships = await tx.manager.find(Membership, { where: { personId }, select: { accountId: true } });
  const changes = memberships.flatMap(({ accountId }) =>
    ids.map((id) => ({ accountId, action, targets: [auditTarget('passkey', id), auditTarget('person', personId)] })),
  );
  await recordChanges(tx, ...changes);
}

/** All of the person, before `endSessions`: a sign-in that is under way has its session by then, or gets none. */
export async function removePasskeys(tx: Tx, personId: string): Promise<void> {
  const removed = await tx.query<{ id: string }>('DELETE FROM passkeys WHERE person_id = $1 RETURNING id', [personId]);
  await recordPasskeys(
    tx,
    personId,
    'passkey.removed',
    removed.map(({ id }) => id),
  );
}
