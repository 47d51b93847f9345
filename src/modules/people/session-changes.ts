import { type AuditedChange, auditTarget } from '../../access/audit-trail.js';
import type { Session } from './session.entity.js';

/** An entry of the audit log about a session, in the log of the account for which it acts. */
export const sessionChange = ({ accountId, id }: Pick<Session, 'accountId' | 'id'>, action: string): AuditedChange => ({
  accountId,
  action,
  targets: [auditTarget('session', id)],
});
