import { Badge } from '../components/badge';
import { t } from '../language/texts';
import { isRestricted } from '../session/permissions';
import { currentKey, isTestKey, scopes, session } from '../session/session';

/** Which data this is. */
export function TestMode() {
  if (!isTestKey(currentKey.value)) return null;
  return (
    <p class="limited-key muted small">
      <Badge tone="accent">{t('Test mode')}</Badge>
    </p>
  );
}

/** Why pages and buttons are missing. */
export function LimitedKey() {
  if (!isRestricted()) return null;
  if (session.value)
    return <p class="limited-key muted small">{t('Your role: {role}', { role: t(session.value.role) })}</p>;
  return (
    <p class="limited-key muted small">
      {t('This key has limited access:')}{' '}
      {scopes.value?.map((scope, i) => (
        <>
          {i > 0 && ', '}
          <code>{scope}</code>
        </>
      ))}
    </p>
  );
}
