import type { Member } from 'vnotes';

import { type Text } from '../../language/texts';
import { session } from '../../session/session';

export type Role = Member['role'];

/** Highest first. */
export const ROLES: readonly { role: Role; meaning: Text }[] = [
  { role: 'owner', meaning: 'Everything, and makes others owners' },
  { role: 'admin', meaning: 'Everything, and changes all members but owners' },
  { role: 'editor', meaning: 'Records, corrects, shares and deletes recordings' },
  { role: 'viewer', meaning: 'Reads and hears recordings' },
];

/** Whether the person who has signed in may give and take it. */
export const mayGive = (role: Role): boolean => role !== 'owner' || session.value?.role === 'owner';
