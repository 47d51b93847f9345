import { isRestricted } from '../session/permissions';
import { scopes } from '../session/session';

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
