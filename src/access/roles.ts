import { type Scope, SCOPES } from './scopes.js';

/** What a person is in an account, highest first (D97). */
export const ROLES = ['owner', 'admin', 'editor', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

const READS: readonly Scope[] = ['recordings:read'];
const WRITES: readonly Scope[] = ['recordings:read', 'recordings:write'];

/** Whether the role is `limit`, or a lower one. */
export const isAtMost = (role: Role, limit: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(limit);

/** Owners and administrators hold every scope, also those of extensions. */
export function scopesOf(role: Role): readonly Scope[] {
  if (role === 'viewer') return READS;
  return role === 'editor' ? WRITES : SCOPES;
}
