import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { ApiError, type SharedRecording, VoiceNotes } from 'vnotes';

import { Failed } from '../../components/failed';
import { Field } from '../../components/field';
import { Icon } from '../../components/icon';
import { Loading } from '../../components/loading';
import { FormError } from '../../forms/form-error';
import { useSubmit } from '../../forms/use-submit';
import { t } from '../../language/texts';
import { Brand } from '../../layout/brand';
import { usePageTitle } from '../../layout/use-page-title';
import { baseUrl } from '../../session/session';
import '../../layout/layout.css';
import { readShareLink } from './share-link';
import { SharedNote } from './shared-note';
import './shared.css';

const api = new VoiceNotes({ baseUrl: baseUrl() });

/** What a link shows to somebody without an account. */
export function SharedPage() {
  const link = useSignal(readShareLink(location.hash));
  useEffect(() => {
    const follow = () => (link.value = readShareLink(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  const { token, time } = link.value;
  return (
    <div class="shared">
      <header class="shared-header">
        <Brand />
      </header>
      <main>
        <Opened key={token} token={token} time={time} />
      </main>
    </div>
  );
}

function Opened({ token, time }: { token: string; time: number }) {
  const note = useSignal<SharedRecording | null>(null);
  const password = useSignal<string | null>(null);
  const { busy, error, run } = useSubmit();
  const open = () => api.recordings.openShare(token, password.value);
  const load = () => void run(async () => void (note.value = await open()));
  useEffect(load, []);
  if (note.value) return <SharedNote note={note.value} time={time} reopen={open} />;
  if (isRefused(error.value, 'PASSWORD_REQUIRED') || password.value !== null) {
    return (
      <PasswordForm
        isBusy={busy.value}
        error={error.value}
        isWrong={password.value !== null && isRefused(error.value, 'PASSWORD_REQUIRED')}
        onSubmit={(given) => {
          password.value = given;
          load();
        }}
      />
    );
  }
  if (error.value === null) return <Loading label={t('Opening the voice note…')} />;
  return isGone(error.value) ? <Gone /> : <Failed error={error.value} onRetry={load} />;
}

const isRefused = (error: unknown, code: string): boolean => error instanceof ApiError && error.code === code;

/** A link that was cut off is no right input, or is none of ours. */
const isGone = (error: unknown): boolean => error instanceof ApiError && [400, 404].includes(error.status);

function Gone() {
  usePageTitle(t('Link'));
  return (
    <div class="state">
      <span class="state-icon">
        <Icon name="file" size={28} />
      </span>
      <h1>{t('This link shows nothing any more')}</h1>
      <p class="state-hint">
        {t('It has ended, or it is incomplete. Ask the person who sent it to you for another one.')}
      </p>
    </div>
  );
}

interface PasswordFormProps {
  isBusy: boolean;
  error: unknown;
  isWrong: boolean;
  onSubmit: (password: string) => void;
}

function PasswordForm({ isBusy, error, isWrong, onSubmit }: PasswordFormProps) {
  usePageTitle(t('Password'));
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get('password');
    if (typeof given === 'string') onSubmit(given);
  };
  return (
    <form class="card card-body form shared-password" onSubmit={submit}>
      <h1>{t('This voice note has a password')}</h1>
      <Field label={t('Password')} error={isWrong ? t('This is not the password.') : undefined}>
        <input type="password" name="password" required maxLength={200} autocomplete="off" autofocus />
      </Field>
      {!isRefused(error, 'PASSWORD_REQUIRED') && <FormError error={error} />}
      <div class="form-actions">
        <button type="submit" class="button is-primary" disabled={isBusy}>
          {t('Open')}
        </button>
      </div>
    </form>
  );
}
