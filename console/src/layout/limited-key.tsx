import { Badge } from '../components/badge';
import { isRestricted } from '../session/permissions';
import { currentKey, isTestKey, scopes } from '../session/session';

/** Which data this is. */
export function TestMode() {
  if (!isTestKey(currentKey.value)) return null;
  return (
    <p class="limited-key muted small">
      <Badge tone="accent">Test mode</Badge>
    </p>
  );
}

/** Why pages and buttons are missing. */
export function LimitedKey() {
  if (!isRestricted()) return null;
  return (
    <p class="limited-key muted small">
      This key has limited access:{' '}
      {scopes.value?.map((scope, i) => (
        <>
          {i > 0 && ', '}
          <code>{scope}</code>
        </>
      ))}
    </p>
  );
}
