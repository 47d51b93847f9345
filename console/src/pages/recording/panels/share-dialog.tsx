import { useSignal } from '@preact/signals';
import type { CreatedShare, Share } from 'vnotes';

import { CopyButton } from '../../../components/copy-button';
import { Dialog } from '../../../components/dialog';
import { Failed } from '../../../components/failed';
import { Field } from '../../../components/field';
import { toast } from '../../../components/toast';
import { formatDate } from '../../../format/date';
import { fieldError, formError } from '../../../forms/field-errors';
import { FormActions } from '../../../forms/form-actions';
import { FormError } from '../../../forms/form-error';
import { useSubmit } from '../../../forms/use-submit';
import { useAsync } from '../../../hooks/use-async';
import { type Text, t } from '../../../language/texts';
import { api } from '../../../session/api';
import { baseUrl } from '../../../session/session';
import '../../../forms/choices.css';
import '../../../secrets/shown-once.css';
import './share-dialog.css';

interface ShareDialogProps {
  /** Of the recording. */
  id: string;
  open: boolean;
  onClose: () => void;
}

/** Makes links to a recording, and ends them. */
export function ShareDialog({ id, open, onClose }: ShareDialogProps) {
  return (
    <Dialog open={open} title={t('Share this recording')} onClose={onClose}>
      <Shares id={id} onClose={onClose} />
    </Dialog>
  );
}

function Shares({ id, onClose }: Omit<ShareDialogProps, 'open'>) {
  const created = useSignal<CreatedShare | null>(null);
  const shares = useAsync((signal) => api().recordings.shares(id, { limit: 100 }, { signal }), [id, created.value]);
  return (
    <div class="share-dialog">
      {created.value ? (
        <CreatedLink share={created.value} />
      ) : (
        <ShareForm id={id} onCancel={onClose} onCreated={(share) => (created.value = share)} />
      )}
      {shares.error !== undefined && <Failed error={shares.error} onRetry={shares.reload} />}
      <ShareList id={id} shares={shares.value?.shares ?? []} onEnded={shares.reload} />
    </div>
  );
}

const DAY_MS = 86_400_000;
const EXPIRIES = [
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['1', 'Tomorrow'],
  ['', 'Never'],
] as const satisfies readonly (readonly [days: string, label: Text])[];

interface ShareFormProps {
  id: string;
  onCancel: () => void;
  onCreated: (share: CreatedShare) => void;
}

function ShareForm({ id, onCancel, onCreated }: ShareFormProps) {
  const { busy, error, run } = useSubmit();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const days = Number(form.get('days'));
    const password = form.get('password');
    void run(async () => {
      onCreated(
        await api().recordings.share(id, {
          audio: form.get('audio') === 'on',
          expires_at: days > 0 ? new Date(Date.now() + days * DAY_MS).toISOString() : null,
          password: typeof password === 'string' && password !== '' ? password : null,
        }),
      );
    });
  };
  return (
    <form class="form" onSubmit={submit}>
      <p class="muted">{t('Anybody with the link can read the text, without an account.')}</p>
      <label class="choice">
        <input type="checkbox" name="audio" />
        <span>
          {t('With the audio')}
          <span class="choice-hint">{t('It can be played, and with that be recorded.')}</span>
        </span>
      </label>
      <Field label={t('Ends')} error={fieldError(error.value, 'expires_at')}>
        <select name="days">
          {EXPIRIES.map(([value, label]) => (
            <option key={value} value={value}>
              {t(label)}
            </option>
          ))}
        </select>
      </Field>
      <Field
        label={t('Password (optional)')}
        hint={t('At least 8 characters.')}
        error={fieldError(error.value, 'password')}
      >
        <input name="password" minLength={8} maxLength={200} autocomplete="off" spellcheck={false} />
      </Field>
      <FormError error={formError(error.value, ['expires_at', 'password'])} />
      <FormActions label={t('Create link')} busyLabel={t('Creating…')} isBusy={busy.value} onCancel={onCancel} />
    </form>
  );
}

function CreatedLink({ share }: { share: CreatedShare }) {
  const link = new URL(share.url.replace(/^\//, ''), baseUrl()).href;
  return (
    <>
      <p>{t('Send this link. It is not shown again: for another person, or when it is lost, make another one.')}</p>
      <div class="shown-once">
        <span class="shown-once-label">{t('Link')}</span>
        <code class="shown-once-value">{link}</code>
        <CopyButton text={link} label={t('Copy the link')} iconOnly />
      </div>
    </>
  );
}

function ShareList({ id, shares, onEnded }: { id: string; shares: readonly Share[]; onEnded: () => void }) {
  const { busy, error, run } = useSubmit();
  if (shares.length === 0) return null;
  const end = (share: Share) =>
    void run(async () => {
      await api().recordings.endShare(id, share.id);
      toast(t('The link shows nothing any more.'));
      onEnded();
    });
  return (
    <section aria-label={t('Links')}>
      <h3>{t('Links')}</h3>
      <ul class="share-list">
        {shares.map((share) => (
          <li key={share.id}>
            <span>
              {describe(share)}
              <span class="muted small share-use">{useOf(share)}</span>
            </span>
            <button type="button" class="button" disabled={busy.value} onClick={() => end(share)}>
              {t('End')}
            </button>
          </li>
        ))}
      </ul>
      <FormError error={error.value} />
    </section>
  );
}

function describe({ created_at: created, audio, has_password: hasPassword }: Share): string {
  const date = formatDate(created);
  if (audio)
    return hasPassword ? t('{date}: text and audio, password', { date }) : t('{date}: text and audio', { date });
  return hasPassword ? t('{date}: text, password', { date }) : t('{date}: text', { date });
}

function useOf({ opened_count: count, expires_at: end }: Share): string {
  const opened = t('{count, plural, =0 {Not opened yet} one {Opened once} other {Opened {count} times}}', {
    count,
  });
  if (end === null) return opened;
  const date = formatDate(end);
  const isOpen = Date.parse(`${end}Z`) > Date.now();
  return `${opened} · ${isOpen ? t('ends {date}', { date }) : t('ended {date}', { date })}`;
}
