import { useSignal } from '@preact/signals';
import { ApiError, type TranscribeAgainFields } from 'vnotes';

import { describeError } from '../../../components/describe-error';
import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import { languages, languageTitle } from '../../../format/languages';
import { SpeakerOptions } from '../../../forms/speaker-options';
import { t } from '../../../language/texts';
import type { Note } from '../note';
import { Notice } from './notice';

interface AgainDialogProps {
  note: Note;
  open: boolean;
  onClose: () => void;
}

/** Asks for another run: in another language, with other words to expect, or by another engine. */
export function AgainDialog({ note, open, onClose }: AgainDialogProps) {
  return (
    <Dialog open={open} title={t('Transcribe again')} onClose={onClose}>
      <AgainForm note={note} onClose={onClose} />
    </Dialog>
  );
}

function AgainForm({ note, onClose }: Omit<AgainDialogProps, 'open'>) {
  const error = useSignal<unknown>(null);
  const sending = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const fields = fieldsOf(new FormData(event.currentTarget as HTMLFormElement));
    [sending.value, error.value] = [true, null];
    try {
      await note.transcribeAgain(fields);
      onClose();
    } catch (cause) {
      error.value = cause;
    }
    sending.value = false;
  };
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <p class="muted">
        {note.transcription.value
          ? t('The current transcript stays until the new one is ready. A correction is kept and stays on display.')
          : t('Leave a field empty to keep its setting.')}
      </p>
      <AgainFields error={error.value} />
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          {t('Cancel')}
        </button>
        <button type="submit" class="button is-primary" disabled={sending.value}>
          {t('Transcribe again')}
        </button>
      </div>
    </form>
  );
}

const NAMES = new Set(['language', 'languages', 'vocabulary', 'engine', 'speakers']);

export function AgainFields({ error }: { error: unknown }) {
  const field = error instanceof ApiError ? String(error.details.field) : '';
  const errorOf = (name: string) => (field === name ? (error as ApiError).message : undefined);
  return (
    <>
      <Field
        label={t('Language')}
        hint={t('Its English name, such as german, or several with commas. Leave empty to keep the current one.')}
        error={errorOf('language') ?? errorOf('languages')}
      >
        <input name="language" list="languages" autocomplete="off" spellcheck={false} />
      </Field>
      <datalist id="languages">
        {languages.value.map((language) => (
          <option key={language} value={language} label={languageTitle(language)} />
        ))}
      </datalist>
      <Field
        label={t('Names and words to expect')}
        hint={t('One per line, the most important first. Leave empty to keep the current ones.')}
        error={errorOf('vocabulary')}
      >
        <textarea name="vocabulary" rows={3} dir="auto" spellcheck={false} />
      </Field>
      <Field label={t('Speakers')} hint={t('How many to tell apart in the transcript.')} error={errorOf('speakers')}>
        <select name="speakers">
          <SpeakerOptions unset={t('As before')}>
            <option value="none">{t('None')}</option>
          </SpeakerOptions>
        </select>
      </Field>
      <Field
        label={t('Engine')}
        hint={t('Its name, if the service has several. Leave empty for the default.')}
        error={errorOf('engine')}
      >
        <input name="engine" autocomplete="off" spellcheck={false} />
      </Field>
      {error !== null && !NAMES.has(field) && <RefusalNotice error={error} />}
    </>
  );
}

export function RefusalNotice({ error }: { error: unknown }) {
  const { title, hint } = describeError(error);
  return (
    <div role="alert">
      <Notice tone="is-bad" icon="alert">
        {title}. {hint}
      </Notice>
    </div>
  );
}

/** What is empty is left out: the service takes what it had before. */
export function fieldsOf(form: FormData): TranscribeAgainFields {
  const [language, engine] = [textOf(form, 'language').toLowerCase(), textOf(form, 'engine')];
  const speakers = textOf(form, 'speakers');
  const terms = textOf(form, 'vocabulary').split(/[\n,]/);
  const vocabulary = terms.map((term) => term.trim()).filter((term) => term !== '');
  return {
    ...(language.includes(',')
      ? { languages: language.split(',').map((name) => name.trim()) }
      : language !== '' && { language }),
    ...(engine !== '' && { engine }),
    ...(vocabulary.length > 0 && { vocabulary }),
    ...(speakers !== '' && { speakers: speakers === 'none' ? null : speakers === 'auto' ? 'auto' : Number(speakers) }),
  };
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
