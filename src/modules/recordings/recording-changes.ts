import { auditTarget, type AuditedChange } from '../../access/audit-trail.js';
import type { Recording } from './recording.entity.js';

/** An entry of the audit log about one recording. It says nothing of what the recording holds. */
export const recordingChange = (
  { accountId, id }: Pick<Recording, 'accountId' | 'id'>,
  action: string,
): AuditedChange => ({
  accountId,
  action,
  targets: [auditTarget('recording', id)],
});
