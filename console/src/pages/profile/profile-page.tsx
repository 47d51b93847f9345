import { useSignal } from '@preact/signals';
import type { Session, SessionPage } from 'vnotes';

import { Badge } from '../../components/badge';
import { Failed } from '../../components/failed';
import { Field } from '../../components/field';
import { Loading } from '../../components/loading';
import { toast } from '../../components/toast';
import { fieldError, formError } from '../../forms/field-errors';
import { FormError } from '../../forms/form-error';
import { NewPassword } from '../../forms/new-password';
import { useSubmit } from '../../forms/use-submit';
import { formatAge, formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { t } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { ask } from '../../session/ask';
import { session, signOut } from '../../session/session';
import { useSignInWays } from '../../session/sign-in-ways';
import { Passkeys } from './passkeys';
import '../members/members.css';

/** What people change of themselves, and where they have signed in. */
export default function ProfilePage() {
  const own = session.value;
  const { ways } = useSignInWays();
  const sessions = useAsync(() => ask<SessionPage>('GET', 'sessions?limit=50'), []);
  if (!own) return null;
  return (
    <div class="stack">
      <PageHeader
        title={t('Your sign-in')}
        hint={t('{email}, {role} of {account}', {
          email: own.person.email,
          role: t(own.role),
          account: own.account_name,
        })}
      />
      {own.provider === undefined ? (
        <>
          <NameForm key={own.person.name} name={own.person.name} />
          {ways.includes('password') && <PasswordForm own={own} onChanged={sessions.reload} />}
          {ways.includes('passkey') && <Passkeys own={own} />}
        </>
      ) : (
        <p class="muted">
          {t('You change your name, e-mail address and password where you sign in: {provider}.', {
            provider: own.provider,
          })}
        </p>
      )}
      <section class="card" aria-labelledby="sessions-title">
        <header class="card-header">
          <h2 id="sessions-title">{t('Where you have signed in')}</h2>
        </header>
        {sessions.error ? (
          <Failed error={sessions.error} onRetry={sessions.reload} />
        ) : !sessions.value ? (
          <Loading label={t('Loading sessions…')} />
        ) : (
          <Sessions sessions={sessions.value.sessions} onEnded={sessions.reload} />
        )}
      </section>
      <Accounts own={own} />
    </div>
  );
}

function NameForm({ name }: { name: string }) {
  const next = useSignal(name);
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      session.value = await ask<Session>('PATCH', 'session/person', { name: next.value.trim() });
      toast(t('Name saved.'));
    });
  };
  return (
    <section class="card" aria-labelledby="name-title">
      <header class="card-header">
        <h2 id="name-title">{t('Name')}</h2>
      </header>
      <form class="card-body form" onSubmit={submit}>
        <Field label={t('Your name')} error={fieldError(error.value, 'name')}>
          <input
            required
            maxLength={100}
            autocomplete="name"
            dir="auto"
            value={next.value}
            onInput={(event: InputEvent) => (next.value = (event.currentTarget as HTMLInputElement).value)}
          />
        </Field>
        <FormError error={formError(error.value, ['name'])} />
        <div class="form-actions">
          <button type="submit" class="button" disabled={busy.value}>
            {t('Save name')}
          </button>
        </div>
      </form>
    </section>
  );
}

function PasswordForm({ own, onChanged }: { own: Session; onChanged: () => void }) {
  const [current, password] = [useSignal(''), useSignal('')];
  const { busy, error, run } = useSubmit();
  const needsCurrent = own.person.has_password && own.began_with !== 'link';
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const body = { password: password.value, ...(needsCurrent && { current_password: current.value }) };
      session.value = await ask<Session>('PATCH', 'session/person', body);
      [current.value, password.value] = ['', ''];
      toast(t('Password changed. Everywhere else you are signed out.'));
      onChanged();
    });
  };
  return (
    <section class="card" aria-labelledby="password-title">
      <header class="card-header">
        <h2 id="password-title">{t('Password')}</h2>
      </header>
      <form class="card-body form" onSubmit={submit}>
        {needsCurrent && (
          <Field label={t('Current password')} error={fieldError(error.value, 'current_password')}>
            <input
              type="password"
              autocomplete="current-password"
              required
              value={current.value}
              onInput={(event: InputEvent) => (current.value = (event.currentTarget as HTMLInputElement).value)}
            />
          </Field>
        )}
        <NewPassword
          label={t('New password')}
          value={password.value}
          error={fieldError(error.value, 'password')}
          onInput={(text) => (password.value = text)}
        />
        <FormError error={formError(error.value, ['current_password', 'password'])} />
        <div class="form-actions">
          <button type="submit" class="button" disabled={busy.value}>
            {busy.value ? t('Saving…') : own.person.has_password ? t('Change password') : t('Set password')}
          </button>
        </div>
      </form>
    </section>
  );
}

function Sessions({ sessions, onEnded }: { sessions: SessionPage['sessions']; onEnded: () => void }) {
  const { busy, error, run } = useSubmit();
  const end = (id: string) =>
    void run(async () => {
      await ask('DELETE', `sessions/${id}`);
      toast(t('Session ended.'));
      onEnded();
    });
  return (
    <>
      <FormError error={error.value} />
      <ul class="people">
        {sessions.map((one) => (
          <li key={one.id}>
            <span class="people-name">
              <span>
                {one.address ?? t('Unknown address')} {one.is_current && <Badge tone="accent">{t('This one')}</Badge>}
              </span>
              <span class="muted small">{one.user_agent ?? t('Unknown browser')}</span>
            </span>
            <span class="muted small" title={formatDate(one.created_at)}>
              {t('By {way}, seen {age}', { way: t(one.began_with), age: formatAge(one.last_seen_at) })}
            </span>
            {!one.is_current && (
              <button
                type="button"
                class="button"
                disabled={busy.value}
                aria-label={t('End the session of {date}', { date: formatDate(one.created_at) })}
                onClick={() => end(one.id)}
              >
                {t('End')}
              </button>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

function Accounts({ own }: { own: Session }) {
  const { busy, error, run } = useSubmit();
  const leaving = useSignal<string | null>(null);
  const leave = ({ id, account_id }: Session['memberships'][number]) =>
    void run(async () => {
      leaving.value = null;
      await ask('DELETE', `session/memberships/${id}`);
      if (account_id === own.account_id) return signOut();
      session.value = await ask<Session>('GET', 'session');
    });
  return (
    <section class="card" aria-labelledby="accounts-title">
      <header class="card-header">
        <h2 id="accounts-title">{t('Your accounts')}</h2>
      </header>
      <FormError error={error.value} />
      <ul class="people">
        {own.memberships.map((membership) => (
          <li key={membership.id}>
            <span class="people-name" dir="auto">
              {membership.account_name}
              <span class="muted small">{t(membership.role)}</span>
            </span>
            <button
              type="button"
              class={leaving.value === membership.id ? 'button is-danger' : 'button'}
              disabled={busy.value}
              aria-label={
                leaving.value === membership.id
                  ? t('Leave now {account}', { account: membership.account_name })
                  : t('Leave {account}', { account: membership.account_name })
              }
              onClick={() => (leaving.value === membership.id ? leave(membership) : (leaving.value = membership.id))}
            >
              {leaving.value === membership.id ? t('Leave now') : t('Leave')}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
