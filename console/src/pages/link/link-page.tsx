import { useSignal } from '@preact/signals';
import { ApiError, type OpenedInvitation, type Session } from 'vnotes';

import { Failed } from '../../components/failed';
import { Field } from '../../components/field';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { fieldError, formError } from '../../forms/field-errors';
import { FormError } from '../../forms/form-error';
import { NewPassword } from '../../forms/new-password';
import { useSubmit } from '../../forms/use-submit';
import { formatDate } from '../../format/date';
import { useAsync } from '../../hooks/use-async';
import { rich, t } from '../../language/texts';
import { switchTo } from '../../layout/account-choice';
import { usePageTitle } from '../../layout/use-page-title';
import { ask } from '../../session/ask';
import { client, session, signInPerson, signOut } from '../../session/session';
import { openedLink, type PersonLink } from '../../session/sign-in-link';
import { useSignInWays } from '../../session/sign-in-ways';
import { SignInFrame } from '../sign-in/sign-in-page';

/** A link for a person: nothing is used up before a button is pressed. */
export default function LinkPage() {
  const link = openedLink.value;
  return (
    <SignInFrame>
      {link && (link.kind === 'link' ? <SignInLinkForm key={link.token} {...link} /> : <InvitationForm {...link} />)}
    </SignInFrame>
  );
}

const close = () => (openedLink.value = null);

/** Signs out the person or key before. */
function finish(begun: Session): void {
  if (client.peek()) signOut();
  signInPerson(begun);
  close();
}

function SignInLinkForm({ token }: PersonLink) {
  usePageTitle(t('Sign in'));
  const begun = useSignal<Session | null>(null);
  const { busy, error, run } = useSubmit();
  const isUsed = error.value instanceof ApiError && error.value.status === 401;
  const { ways } = useSignInWays();
  const signIn = () =>
    void run(async () => {
      const answer = await ask<Session>('POST', 'sessions', { link: token });
      if (ways.includes('password')) begun.value = answer;
      else finish(answer);
    });
  if (begun.value) return <PasswordForm begun={begun.value} />;
  return (
    <>
      <div class="sign-in-words">
        <h1>{t('Sign in with this link')}</h1>
        <p class="muted">{client.value ? t('It works once. You are signed out first.') : t('It works once.')}</p>
      </div>
      {isUsed ? (
        <p class="notice is-bad" role="alert">
          <Icon name="alert" />
          <span>
            {rich('<b>This link was used or has expired.</b> Ask an administrator of your account for another one.', {
              b: (words) => <strong>{words}</strong>,
            })}
          </span>
        </p>
      ) : (
        <>
          <FormError error={error.value} />
          <button type="button" class="button is-primary" disabled={busy.value} onClick={signIn}>
            {busy.value ? t('Signing in…') : t('Sign in')}
          </button>
        </>
      )}
      <button type="button" class="button is-quiet" onClick={close}>
        {t('Cancel')}
      </button>
    </>
  );
}

function PasswordForm({ begun }: { begun: Session }) {
  const password = useSignal('');
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => finish(await ask('PATCH', 'session/person', { password: password.value })));
  };
  return (
    <form class="form" onSubmit={submit}>
      <div class="sign-in-words">
        <h1>{t('Set a password')}</h1>
        <p class="muted" dir="auto">
          {t('For {email}. You sign in with it from now on.', { email: begun.person.email })}
        </p>
      </div>
      <FormError error={formError(error.value, ['password'])} />
      <input
        type="email"
        class="visually-hidden"
        tabIndex={-1}
        aria-hidden="true"
        autocomplete="username"
        readOnly
        value={begun.person.email}
      />
      <NewPassword
        value={password.value}
        error={fieldError(error.value, 'password')}
        onInput={(text) => (password.value = text)}
      />
      <button type="submit" class="button is-primary" disabled={busy.value}>
        {busy.value ? t('Saving…') : t('Set password')}
      </button>
      <button type="button" class="button is-quiet" onClick={() => finish(begun)}>
        {t('Not now')}
      </button>
    </form>
  );
}

function InvitationForm({ token }: PersonLink) {
  usePageTitle(t('Invitation'));
  const opened = useAsync(() => ask<OpenedInvitation>('POST', 'invitations/open', { link: token }), [token]);
  const asOther = useSignal(false);
  if (opened.error) {
    return (
      <>
        <h1>{t('This invitation cannot be used')}</h1>
        {opened.error instanceof ApiError && opened.error.status === 404 ? (
          <p>{t('It was accepted or withdrawn, or has expired. Ask for another one.')}</p>
        ) : (
          <Failed error={opened.error} onRetry={opened.reload} />
        )}
        <button type="button" class="button is-quiet" onClick={close}>
          {t('Close')}
        </button>
      </>
    );
  }
  if (!opened.value) return <Loading label={t('Opening the invitation…')} />;
  const { account_name, role, expires_at } = opened.value;
  const isKnown = session.value !== null && !asOther.value;
  return (
    <>
      <div class="sign-in-words">
        <h1 dir="auto">{t('Join {account}', { account: account_name })}</h1>
        <p class="muted">
          {t('You are invited as {role}, until {date}.', { role: t(role), date: formatDate(expires_at) })}
        </p>
      </div>
      {isKnown ? (
        <JoinForm token={token} onOther={() => (asOther.value = true)} />
      ) : (
        <AcceptForm token={token} email={opened.value.email} />
      )}
    </>
  );
}

function JoinForm({ token, onOther }: { token: string; onOther: () => void }) {
  const { busy, error, run } = useSubmit();
  const join = () =>
    void run(async () => {
      const { account_id } = await ask<{ account_id: string }>('POST', 'session/memberships', { link: token });
      close();
      await switchTo(account_id);
    });
  return (
    <>
      <FormError error={error.value} />
      <button type="button" class="button is-primary" disabled={busy.value} onClick={join}>
        {t('Join as {name}', { name: session.value?.person.name ?? '' })}
      </button>
      <button type="button" class="button is-quiet" onClick={onOther}>
        {t('Join as somebody else')}
      </button>
    </>
  );
}

function AcceptForm({ token, email }: { token: string; email: string }) {
  const hasPassword = useSignInWays().ways.includes('password');
  const [name, password] = [useSignal(''), useSignal('')];
  const { busy, error, run } = useSubmit();
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const body = { link: token, name: name.value.trim(), ...(hasPassword && { password: password.value }) };
      finish(await ask('POST', 'invitations/accept', body));
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <FormError error={formError(error.value, ['name', 'password'])} />
      <Field label={t('E-mail address')}>
        <input type="email" autocomplete="username" readOnly value={email} />
      </Field>
      <Field label={t('Your name')} error={fieldError(error.value, 'name')}>
        <input
          required
          maxLength={100}
          autocomplete="name"
          dir="auto"
          value={name.value}
          onInput={(event: InputEvent) => (name.value = (event.currentTarget as HTMLInputElement).value)}
        />
      </Field>
      {hasPassword && (
        <NewPassword
          value={password.value}
          error={fieldError(error.value, 'password')}
          onInput={(text) => (password.value = text)}
        />
      )}
      <button type="submit" class="button is-primary" disabled={busy.value}>
        {busy.value ? t('Joining…') : t('Join')}
      </button>
      <p class="muted small">
        {t('You sign in to another account here already? Close this page, sign in, and open the link again.')}
      </p>
      <button type="button" class="button is-quiet" onClick={close}>
        {t('Cancel')}
      </button>
    </form>
  );
}
