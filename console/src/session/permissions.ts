import { type Scope, SCOPES } from 'vnotes';

import { t, type Text } from '../language/texts';
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
export function reasonFor(scope: Scope, action: Text): string {
  const words = t(action);
  if (session.value) return t('Your role, {role}, cannot {action}.', { role: t(session.value.role), action: words });
  return t('This key cannot {action}. It needs the scope {scope}.', { scope, action: words });
}
