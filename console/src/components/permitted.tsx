import type { ComponentChildren } from 'preact';
import type { Scope } from 'vnotes';

import type { Text } from '../language/texts';
import { may, reasonFor } from '../session/permissions';

interface PermittedProps {
  scope: Scope;
  /** What needs it: `upload recordings`. */
  action: Text;
  children: ComponentChildren;
}

/** What a key with the scope is offered; with another key the reason takes its place. */
export function Permitted({ scope, action, children }: PermittedProps) {
  if (may(scope)) return <>{children}</>;
  return <p class="not-permitted muted small">{reasonFor(scope, action)}</p>;
}
