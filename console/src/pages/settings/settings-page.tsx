import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import type { NewAccountSpeakers, Retention } from 'vnotes';

import { Failed } from '../../components/failed';
import { Field } from '../../components/field';
import { Loading } from '../../components/loading';
import { toast } from '../../components/toast';
import { fieldError, formError } from '../../forms/field-errors';
import { FormError } from '../../forms/form-error';
import { SpeakerOptions } from '../../forms/speaker-options';
import { useSubmit } from '../../forms/use-submit';
import { useAsync } from '../../hooks/use-async';
import { t, type Text } from '../../language/texts';
import { PageHeader } from '../../layout/page-header';
import { api } from '../../session/api';
import { ask } from '../../session/ask';
import { may, reasonFor } from '../../session/permissions';
import { ExportCard } from './export-card';
import '../../forms/choices.css';
import './settings.css';

interface AuditLogSettings {
  records_reads: boolean;
  retain_days: number | null;
}

const AUDIT_LOG = 'account/audit-log/settings';

/** What holds for all recordings of the account, and what is known of it. */
export default function SettingsPage() {
  const loaded = useAsync(async (signal) => {
    const { account } = api();
    const [{ vocabulary }, { speakers }, retention, auditLog] = await Promise.all([
      account.vocabulary({ signal }),
      account.speakers({ signal }),
      account.retention({ signal }),
      ask<AuditLogSettings>('GET', AUDIT_LOG),
    ]);
    return { vocabulary, speakers, retention, auditLog };
  }, []);
  const { value } = loaded;
  return (
    <div class="stack">
      <PageHeader
        title={t('Settings')}
        hint={t(
          'Vocabulary, speakers and retention are for new recordings. An upload may say something else for itself.',
        )}
      />
      {Boolean(loaded.error) && <Failed error={loaded.error} onRetry={loaded.reload} />}
      {!value && loaded.loading && <Loading label={t('Loading settings…')} />}
      {value && (
        <>
          <VocabularyForm vocabulary={value.vocabulary} />
          <SpeakersForm speakers={value.speakers} />
          <RetentionForm retention={value.retention} />
          <AuditLogForm settings={value.auditLog} />
          <ExportCard />
        </>
      )}
    </div>
  );
}

interface SettingProps {
  title: Text;
  fields: readonly string[];
  /** Stores what the form says. */
  save: (form: FormData) => Promise<unknown>;
  /** @param errorOf what the service says of a field */
  children: (errorOf: (field: string) => string | undefined) => ComponentChildren;
}

/** One setting, saved by itself. */
function Setting({ title, fields, save, children }: SettingProps) {
  const { busy, error, run } = useSubmit();
  const isAllowed = may('account:write');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    void run(async () => {
      await save(form);
      toast(t('{what} saved.', { what: t(title) }));
    });
  };
  return (
    <section class="card" aria-label={t(title)}>
      <header class="card-header">
        <h2>{t(title)}</h2>
      </header>
      <form class="card-body form" onSubmit={submit}>
        <fieldset class="setting" disabled={!isAllowed}>
          {children((field) => fieldError(error.value, field))}
        </fieldset>
        <FormError error={formError(error.value, fields)} />
        {isAllowed ? (
          <div class="form-actions">
            <button
              type="submit"
              class="button"
              aria-label={t('Save: {what}', { what: t(title) })}
              disabled={busy.value}
            >
              {busy.value ? t('Saving…') : t('Save')}
            </button>
          </div>
        ) : (
          <p class="muted small">{reasonFor('account:write', 'change settings')}</p>
        )}
      </form>
    </section>
  );
}

function VocabularyForm({ vocabulary }: { vocabulary: string[] }) {
  const save = (form: FormData) => api().account.setVocabulary(linesOf(form, 'vocabulary'));
  return (
    <Setting title="Vocabulary" fields={['vocabulary']} save={save}>
      {(errorOf) => (
        <Field
          label={t('Names and words to expect')}
          hint={t('One on a line, the most important first. At most 15 of them reach the engine.')}
          error={errorOf('vocabulary')}
        >
          <textarea name="vocabulary" rows={6} dir="auto" spellcheck={false} defaultValue={vocabulary.join('\n')} />
        </Field>
      )}
    </Setting>
  );
}

function SpeakersForm({ speakers }: { speakers: number | 'auto' | null }) {
  const next = useSignal(String(speakers ?? ''));
  const save = () => api().account.setSpeakers(speakersOf(next.value));
  return (
    <Setting title="Speakers" fields={['speakers']} save={save}>
      {(errorOf) => (
        <Field label={t('How many to tell apart')} error={errorOf('speakers')}>
          <select value={next.value} onChange={(event) => (next.value = event.currentTarget.value)}>
            <SpeakerOptions unset={t('None')} />
          </select>
        </Field>
      )}
    </Setting>
  );
}

function RetentionForm({ retention }: { retention: Retention }) {
  const save = (form: FormData) => {
    const [audio, text] = [daysOf(form, 'audio'), daysOf(form, 'text')];
    return api().account.setRetention({
      // The service takes no audio that outlives its text.
      retain_audio_days: audio ?? text,
      retain_text_days: text,
      delete_audio_after: form.has('transcribed') ? 'transcribed' : null,
    });
  };
  return (
    <Setting title="Retention" fields={['retain_audio_days', 'retain_text_days']} save={save}>
      {(errorOf) => (
        <>
          <label class="choice">
            <input type="checkbox" name="transcribed" defaultChecked={retention.delete_audio_after !== null} />
            <span>
              {t('Delete the audio once it is transcribed')}
              <span class="choice-hint">{t('It can neither be played nor be transcribed again then.')}</span>
            </span>
          </label>
          <DaysField
            name="audio"
            label={t('Days until the audio is deleted')}
            days={retention.retain_audio_days}
            hint={t('Empty: with the recording.')}
            error={errorOf('retain_audio_days')}
          />
          <DaysField
            name="text"
            label={t('Days until the whole recording is deleted')}
            days={retention.retain_text_days}
            error={errorOf('retain_text_days')}
          />
        </>
      )}
    </Setting>
  );
}

function AuditLogForm({ settings }: { settings: AuditLogSettings }) {
  const save = (form: FormData) =>
    ask('PUT', AUDIT_LOG, { records_reads: form.has('reads'), retain_days: daysOf(form, 'days') });
  return (
    <Setting title="Audit log" fields={['retain_days']} save={save}>
      {(errorOf) => (
        <>
          <label class="choice">
            <input type="checkbox" name="reads" defaultChecked={settings.records_reads} />
            <span>
              {t('Also who reads, plays and exports')}
              <span class="choice-hint">{t('Changes are always recorded.')}</span>
            </span>
          </label>
          <DaysField
            name="days"
            label={t('Days until entries are removed')}
            days={settings.retain_days}
            error={errorOf('retain_days')}
          />
        </>
      )}
    </Setting>
  );
}

interface DaysFieldProps {
  name: string;
  label: string;
  days: number | null;
  hint?: string;
  error: string | undefined;
}

function DaysField({ name, label, days, hint, error }: DaysFieldProps) {
  return (
    <Field label={label} hint={hint ?? t('Empty: never.')} error={error}>
      <input name={name} inputMode="numeric" class="is-short" defaultValue={days === null ? '' : String(days)} />
    </Field>
  );
}

const textOf = (form: FormData, name: string): string => form.get(name) as string;

/** What is no number is sent as it is: the service says what it has to be. */
function daysOf(form: FormData, name: string): number | null {
  const text = textOf(form, name).trim();
  return text === '' ? null : ((Number(text) || text) as number);
}

const linesOf = (form: FormData, name: string): string[] =>
  textOf(form, name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

function speakersOf(value: string): NewAccountSpeakers['speakers'] {
  if (value === '') return null;
  return value === 'auto' ? 'auto' : Number(value);
}
