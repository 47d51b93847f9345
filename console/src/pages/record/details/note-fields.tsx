import { Field } from '../../../components/field';
import { LANGUAGES, titleOf } from './languages';
import { noteLanguage, noteTitle } from './note-form';
import { TagFields } from './tag-fields';

/** Name, language and tags of what is recorded or uploaded here. */
export function NoteFields() {
  return (
    <section class="card" aria-labelledby="note-fields">
      <div class="card-header">
        <h2 id="note-fields">Details</h2>
      </div>
      <div class="card-body form">
        <Field label="Title" hint="Shown in the list of recordings.">
          <input
            value={noteTitle}
            maxLength={200}
            dir="auto"
            autocomplete="off"
            onInput={(event) => (noteTitle.value = event.currentTarget.value)}
          />
        </Field>
        <Field label="Spoken language">
          <select value={noteLanguage.value} onChange={(event) => (noteLanguage.value = event.currentTarget.value)}>
            <option value="">Automatic</option>
            {LANGUAGES.map((language) => (
              <option key={language} value={language}>
                {titleOf(language)}
              </option>
            ))}
          </select>
        </Field>
        <TagFields />
      </div>
    </section>
  );
}
