import { hash } from 'node:crypto';
import { canonicalJson, personalHash } from '../../access/audit-trail.js';
import type { AuditEntry } from './audit-entry.entity.js';

/** Where a chain has come to. */
export interface ChainEnd {
  number: number;
  hash: string;
}

/** What is wrong with the first entry that is not as it was written. */
export interface BrokenEntry {
  number: number;
  /** Null for one that is missing. */
  id: string | null;
  problem: 'changed' | 'missing' | 'unexpected';
}

/** Of an entry behind another. Personal data are in it by their own hash, so that they can be erased. */
export function hashOf(entry: AuditEntry, number: number, previousHash: string): string {
  const { id, accountId, at, action, outcome, actorKind, keyId, personId, tokenId, personalHash: personal } = entry;
  const { requestId, targetId, targets, before, after } = entry;
  const what = { id, account_id: accountId, number, at: at.toISOString(), action, outcome, before, after };
  const who = {
    actor_kind: actorKind,
    key_id: keyId,
    person_id: personId,
    token_id: tokenId,
    personal,
    request_id: requestId,
  };
  return hash('sha256', previousHash + canonicalJson({ ...what, ...who, target_id: targetId, targets }), 'hex');
}

/** Follows a chain, entry by entry. @returns its new end, or what is wrong. */
export function follow(end: ChainEnd, entry: AuditEntry): ChainEnd | BrokenEntry {
  const number = Number(entry.number);
  if (number > end.number + 1) return { number: end.number + 1, id: null, problem: 'missing' };
  const isWhole =
    entry.previousHash === end.hash && entry.hash === hashOf(entry, number, end.hash) && isPersonalWhole(entry);
  return isWhole ? { number, hash: entry.hash as string } : { number, id: entry.id, problem: 'changed' };
}

/** Erased data are null, together with their salt. */
function isPersonalWhole({ salt, personalHash: sealed, userId, address, userAgent }: AuditEntry): boolean {
  if (salt !== null) return sealed === personalHash(salt, { userId, address, userAgent });
  return userId === null && address === null && userAgent === null;
}
