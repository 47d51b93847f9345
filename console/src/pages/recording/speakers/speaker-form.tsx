import { useId, useLayoutEffect, useRef } from 'preact/hooks';

import { FormError } from '../../../forms/form-error';
import { useSubmit } from '../../../forms/use-submit';
import { t } from '../../../language/texts';
import { NAMES_CHANGED, NamesChangedError, type SpeakerNaming } from './speaker-naming';
import { LONGEST_NAME, type Person } from './speakers';

/** A name that is typed. It stays when somebody else changes who is who meanwhile. */
export interface NameDraft {
  labels: readonly string[];
  text: string;
}

interface SpeakerFormProps {
  person: Person;
  draft: NameDraft;
  onType: (text: string) => void;
  naming: SpeakerNaming;
  onClose: () => void;
}

/** The name in place: Enter saves it, Escape leaves it as it was. */
export function SpeakerForm({ person, draft, onType, naming, onClose }: SpeakerFormProps) {
  const { busy, error, run } = useSubmit();
  const input = useRef<HTMLInputElement>(null);
  const problem = useId();
  // Before the page is shown: what is typed at once belongs to the name.
  useLayoutEffect(() => input.current?.select(), []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void run(async () => {
      await naming.rename(draft.labels, draft.text.trim() || null);
      onClose();
    });
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    onClose();
  };
  const isConflict = error.value instanceof NamesChangedError;
  return (
    <form class="speaker-form" onSubmit={submit} onKeyDown={press}>
      <input
        ref={input}
        class="input"
        aria-label={t('Name of {name}', { name: person.title })}
        aria-describedby={isConflict ? problem : undefined}
        value={draft.text}
        placeholder={person.title}
        maxLength={LONGEST_NAME}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        onInput={(event) => onType(event.currentTarget.value)}
      />
      <button type="submit" class="button is-primary" disabled={busy.value}>
        {t('Save')}
      </button>
      <button type="button" class="button" onClick={onClose}>
        {t('Cancel')}
      </button>
      {isConflict && (
        <p id={problem} class="speaker-conflict small" role="alert">
          {t(NAMES_CHANGED)}
        </p>
      )}
      {!isConflict && <FormError error={error.value} />}
    </form>
  );
}
