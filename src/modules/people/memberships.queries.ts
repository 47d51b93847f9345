import { v7 as uuidv7 } from 'uuid';
import { isAtMost, type Role, scopesOf } from '../../access/roles.js';
import { type AuditedChange, auditTarget, recordChanges } from '../../access/audit-trail.js';
import { raiseCredentialVersion } from '../../access/accounts.queries.js';
import type { Tx } from '../../platform/database/database.service.js';
import { lockByName } from '../../platform/database/locks.js';
import { AuthenticationError, LimitExceededError, PermissionError } from '../../platform/errors/errors.js';
import { Membership } from './membership.entity.js';
import { Person } from './person.entity.js';
import { type Session, sessionChange } from './session.entity.js';

/** Of one account. */
export const MAX_MEMBERS = 1000;

/** What a session that began with a link is told: its maker might have used the link, too. */
export const BOUND_TO_ACCOUNT = 'This session began with a link, and is for one account. Sign in with your password.';

/** Until the transaction ends, nobody else changes the members of the account. */
export const lockMembers = (tx: Tx, accountId: string): Promise<void> => lockByName(tx, `members:${accountId}`);

/**
 * Until the transaction ends, nobody else changes the password of the person, or lets the person into an account or in
 * with a link. Taken after `lockMembers`.
 * @throws AuthenticationError when the person is gone
 */
export async function lockPerson(tx: Tx, personId: string): Promise<void> {
  const found = await tx.manager.findOne(Person, {
    where: { id: personId },
    select: { id: true },
    lock: { mode: 'pessimistic_write' },
  });
  if (!found) throw new AuthenticationError();
}

/**
 * Asked under `lockMembers`: since the guards admitted the request, the role may have been taken from its person.
 * @param roles that the person gives or takes, or of members whom the person lets in
 * @throws PermissionError
 */
export async function refuseHigherRoles(
  tx: Tx,
  accountId: string,
  personId: string,
  ...roles: readonly Role[]
): Promise<void> {
  const editor = await tx.manager.findOneBy(Membership, { accountId, personId });
  if (!editor || !scopesOf(editor.role).includes('account:write')) throw new PermissionError('account:write');
  const higher = roles.find((role) => !isAtMost(role, editor.role));
  if (higher) throw new PermissionError(null, `This takes the role ${higher}; yours is ${editor.role}.`);
}

/** Under `lockMembers`, with its entry in the audit log. @throws LimitExceededError */
export async function insertMembership(
  tx: Tx,
  { accountId, personId, role }: Pick<Membership, 'accountId' | 'personId' | 'role'>,
): Promise<void> {
  if ((await tx.manager.countBy(Membership, { accountId })) >= MAX_MEMBERS)
    throw new LimitExceededError('members', MAX_MEMBERS);
  const now = new Date();
  const membership = { id: uuidv7(), accountId, personId, role, createdAt: now, updatedAt: now };
  await tx.manager.insert(Membership, membership);
  await recordChanges(tx, { ...memberChange(membership, 'member.added'), after: { role } });
}

/** Under `lockMembers`, with its entry in the audit log. A lower role ends what the person has made with the higher one. */
export async function updateRole(tx: Tx, member: Membership, role: Role): Promise<void> {
  const { id, accountId, personId } = member;
  if (role === member.role) return;
  await tx.manager.update(Membership, { id }, { role, updatedAt: new Date() });
  if (!isAtMost(member.role, role)) await endLinksMadeBy(tx, accountId, personId);
  await raiseCredentialVersion(tx, accountId);
  const shown = { before: { role: member.role }, after: { role } };
  await recordChanges(tx, { ...memberChange(member, 'member.updated'), ...shown });
}

/** An entry of the audit log about a member, without name and address. */
export const memberChange = (
  { accountId, personId }: Pick<Membership, 'accountId' | 'personId'>,
  action: string,
): AuditedChange => ({ accountId, action, targets: [auditTarget('person', personId)] });

/**
 * Ends what the person has made for others in the account, with rights that the person no longer has: invitations, links,
 * and sessions that began with them.
 */
export async function endLinksMadeBy(tx: Tx, accountId: string, personId: string): Promise<void> {
  await tx.query('DELETE FROM sign_in_links WHERE account_id = $1 AND created_by_person = $2', [accountId, personId]);
  await endSessions(tx, 'account_id = $1 AND link_made_by = $2', [accountId, personId]);
}

/**
 * After the commit each process reads the credentials of these accounts again, once that was announced.
 * @param condition SQL
 * @returns ids of the accounts for which the sessions acted, one for each session
 */
export async function endSessions(tx: Tx, condition: string, parameters: unknown[]): Promise<string[]> {
  const ended = await tx.query<Pick<Session, 'id' | 'accountId'>>(
    `DELETE FROM sessions WHERE ${condition} RETURNING id, account_id AS "accountId"`,
    parameters,
  );
  await recordChanges(tx, ...ended.map((session) => sessionChange(session, 'session.ended')));
  // In one order, so that two transactions cannot deadlock.
  const ids = ended.map(({ accountId }) => accountId).toSorted();
  for (const id of new Set(ids)) await raiseCredentialVersion(tx, id);
  return ids;
}
