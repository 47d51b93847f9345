import type { Signal } from '@preact/signals';

import { Field } from '../../../components/field';
import { SpeakerOptions } from '../../../forms/speaker-options';
import { t } from '../../../language/texts';
import { languages, languageTitle } from '../../../format/languages';
import { noteLanguage, noteSecondLanguage, noteSpeakers, noteTitle } from './note-form';
import { TagFields } from './tag-fields';

/** Name, language and tags of what is recorded or uploaded here. */
export function NoteFields() {
  return (
    <section class="card" aria-labelledby="note-fields">
      <div class="card-header">
        <h2 id="note-fields">{t('Details')}</h2>
      </div>
      <div class="card-body form">
        <Field label={t('Title')} hint={t('Shown in the list of recordings.')}>
          <input
            value={noteTitle}
            maxLength={200}
            dir="auto"
            autocomplete="off"
            onInput={(event) => (noteTitle.value = event.currentTarget.value)}
          />
        </Field>
        <Field label={t('Spoken language')}>{languageSelect(noteLanguage, t('Automatic'))}</Field>
        {noteLanguage.value !== '' && (
          <Field label={t('Second language')} hint={t('If you change between two.')}>
            {languageSelect(noteSecondLanguage, t('None'))}
          </Field>
        )}
        <Field label={t('Speakers')} hint={t('How many to tell apart in the transcript.')}>
          <select value={noteSpeakers.value} onChange={(event) => (noteSpeakers.value = event.currentTarget.value)}>
            <SpeakerOptions unset={t('Account setting')} />
          </select>
        </Field>
        <TagFields />
      </div>
    </section>
  );
}

/** @param none what it means to choose no language */
const languageSelect = (chosen: Signal<string>, none: string) => (
  <select value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
    <option value="">{none}</option>
    {languages.value.map((language) => (
      <option key={language} value={language}>
        {languageTitle(language)}
      </option>
    ))}
  </select>
);
