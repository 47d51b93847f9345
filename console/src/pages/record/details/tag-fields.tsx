import { useRef } from 'preact/hooks';

import { Icon } from '../../../components/icon';
import { t } from '../../../language/texts';
import { addTag, changeTag, noteTags, removeTag } from './note-form';
import { canAddTag, tagError, type TagRow, tagsError } from './tag-rules';
import './tag-fields.css';

/** Tags as pairs of name and value. */
export function TagFields() {
  const group = useRef<HTMLFieldSetElement>(null);
  const rows = noteTags.value;
  const error = tagsError(rows);
  const add = () => {
    addTag();
    requestAnimationFrame(() => [...(group.current?.querySelectorAll('input') ?? [])].at(-2)?.focus());
  };
  return (
    <fieldset class="tag-fields" ref={group}>
      <legend>{t('Tags')}</legend>
      {rows.length === 0 && <p class="hint">{t('Labels to filter by, such as a project or a customer number.')}</p>}
      {rows.map((row, i) => (
        <TagInputs key={row.id} row={row} number={i + 1} error={tagError(row, rows)} />
      ))}
      {error && (
        <p class="error" role="alert">
          {error}
        </p>
      )}
      {canAddTag(rows) && (
        <button type="button" class="button" onClick={add}>
          <Icon name="plus" />
          {t('Add a tag')}
        </button>
      )}
    </fieldset>
  );
}

function TagInputs({ row, number, error }: { row: TagRow; number: number; error: string | null }) {
  const described = error ? { 'aria-describedby': `tag-error-${row.id}`, 'aria-invalid': true as const } : {};
  return (
    <div class="tag-row">
      <input
        class="input"
        aria-label={t('Name of tag {number}', { number })}
        placeholder={t('project')}
        value={row.key}
        autocomplete="off"
        spellcheck={false}
        {...described}
        onInput={(event) => changeTag(row.id, { key: event.currentTarget.value })}
      />
      <input
        class="input"
        aria-label={t('Value of tag {number}', { number })}
        placeholder={t('atlas')}
        value={row.value}
        dir="auto"
        autocomplete="off"
        onInput={(event) => changeTag(row.id, { value: event.currentTarget.value })}
      />
      <button
        type="button"
        class="button is-quiet is-icon"
        aria-label={t('Remove tag {number}', { number })}
        onClick={() => removeTag(row.id)}
      >
        <Icon name="close" />
      </button>
      {error && (
        <p id={`tag-error-${row.id}`} class="error">
          {error}
        </p>
      )}
    </div>
  );
}
