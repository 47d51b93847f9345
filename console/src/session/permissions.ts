import type { ApiKey } from 'vnotes';

import { scopes } from './session';

export type Scope = ApiKey['scopes'][number];

const ALL: readonly Scope[] = [
  'recordings:read',
  'recordings:write',
  'webhooks:read',
  'webhooks:write',
  'account:read',
  'account:write',
];

/** Whether the key of this session has the scope. Before the first answer nobody knows, and everything is offered. */
export function may(scope: Scope): boolean {
  return scopes.value?.includes(scope) ?? true;
}

/** Whether the console cannot offer all that it has. */
export function isRestricted(): boolean {
  return !ALL.every(may);
}

/** Why something is not offered. @param action for example `upload recordings` */
export function reasonFor(scope: Scope, action: string): string {
  return `This key cannot ${action}. It needs the scope ${scope}.`;
}
