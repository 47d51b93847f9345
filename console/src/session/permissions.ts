import { type Scope, SCOPES } from 'vnotes';

import { scopes, session } from './session';

/** Whether the key, or the role of the person, has the scope. Before the first answer nobody knows, and everything is offered. */
export function may(scope: Scope): boolean {
  return scopes.value?.includes(scope) ?? true;
}

/** Whether the console cannot offer all that it has. */
export function isRestricted(): boolean {
  return !SCOPES.every(may);
}

/** Why something is not offered. @param action for example `upload recordings` */
export function reasonFor(scope: Scope, action: string): string {
  if (session.value) return `Your role, ${session.value.role}, cannot ${action}.`;
  return `This key cannot ${action}. It needs the scope ${scope}.`;
}
