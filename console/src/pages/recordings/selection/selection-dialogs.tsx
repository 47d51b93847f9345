import { useSignal } from '@preact/signals';
import { isApiError, type Recording } from 'vnotes';

import { ONCE } from '../../../bulk/bulk-task';
import { deleteWithUndo } from '../../../bulk/deletions';
import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import { titleOf } from '../../../format/recording-title';
import { FormActions } from '../../../forms/form-actions';
import { useSubmit } from '../../../forms/use-submit';
import { t } from '../../../language/texts';
import { api } from '../../../session/api';
import { AgainFields, fieldsOf } from '../../recording/panels/again-dialog';
import { readTags, TagsField, wrongTag } from '../tags-field';
import { exportMany, FORMATS } from './export-many';
import { tagMany } from './tag-many';
import { transcribeMany } from './transcribe-many';

export type SelectionDialogName = 'tag' | 'export' | 'again' | 'delete';

interface SelectionDialogProps {
  recordings: readonly Recording[];
  /** Without anything done. */
  onClose: () => void;
  /** @param work after which the list is old */
  onBegin: (work: Promise<void>) => void;
}

const TITLES = {
  tag: 'Tag {count, plural, one {# recording} other {# recordings}}',
  export: 'Export {count, plural, one {# recording} other {# recordings}}',
  again: 'Transcribe {count, plural, one {# recording} other {# recordings}} again',
  delete: 'Delete {count, plural, one {# recording} other {# recordings}}?',
} as const;
const FORMS = { tag: TagForm, export: ExportForm, again: AgainForm, delete: DeleteQuestion };

/** What has to be said before something is done with all that are selected. */
export function SelectionDialog({ name, ...props }: SelectionDialogProps & { name: SelectionDialogName }) {
  const Form = FORMS[name];
  return (
    <Dialog open title={t(TITLES[name], { count: props.recordings.length })} onClose={props.onClose}>
      <Form {...props} />
    </Dialog>
  );
}

function TagForm({ recordings, onClose, onBegin }: SelectionDialogProps) {
  const error = useSignal<{ field: 'tags' | 'remove'; text: string } | null>(null);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const { tags, wrong } = readTags(form.get('tags') as string);
    const remove = (form.get('remove') as string).split(/[\s,]+/).filter((key) => key !== '');
    const refused = tags.find(([key, value]) => !TAG_KEY.test(key) || value.length > MAX_VALUE_LENGTH);
    if (wrong) error.value = { field: 'tags', text: wrongTag(wrong) };
    else if (refused) error.value = { field: 'tags', text: t(TAG_RULES, { key: refused[0] }) };
    else if (tags.length === 0 && remove.length === 0) error.value = { field: 'tags', text: t('Write a tag to add.') };
    else onBegin(tagMany(recordings, { add: Object.fromEntries(tags), remove }));
  };
  const errorOf = (field: string) => (error.value?.field === field ? error.value.text : undefined);
  return (
    <form class="form" onSubmit={submit} noValidate>
      <TagsField hint={t('One per line, such as ticket=T-1042. Other tags are kept.')} error={errorOf('tags')} />
      <Field label={t('Remove tags')} hint={t('Their keys, with spaces between them.')} error={errorOf('remove')}>
        <input name="remove" autocomplete="off" spellcheck={false} dir="auto" />
      </Field>
      <FormActions label={t('Tag')} busyLabel={t('Tag')} isBusy={false} onCancel={onClose} />
    </form>
  );
}

/** As the service takes them. */
const TAG_KEY = /^[\w-]{1,32}$/;
const MAX_VALUE_LENGTH = 128;
const TAG_RULES =
  '{key}: a key has up to 32 letters without accents, digits, _ or -, and a value up to 128 characters.';

function ExportForm({ recordings, onClose, onBegin }: SelectionDialogProps) {
  const ready = recordings.filter(({ status }) => status === 'transcribed');
  const left = recordings.length - ready.length;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const chosen = new FormData(event.currentTarget as HTMLFormElement).get('format');
    const format = FORMATS.find(({ format: name }) => name === chosen) ?? FORMATS[0];
    onBegin(exportMany(ready, format));
  };
  return (
    <form class="form" onSubmit={submit}>
      <p class="muted">
        {ready.length === 1 ? t('The transcript as one file.') : t('One file for each transcript, in a ZIP archive.')}
        {left > 0 && ` ${t('Without a transcript, and left out: {left, number}.', { left })}`}
      </p>
      <Field label={t('Format')}>
        <select name="format">
          {FORMATS.map(({ format, label }) => (
            <option key={format} value={format}>
              {t(label)}
            </option>
          ))}
        </select>
      </Field>
      <FormActions
        label={t('Export')}
        busyLabel={t('Export')}
        isBusy={false}
        isDisabled={ready.length === 0}
        onCancel={onClose}
      />
    </form>
  );
}

function AgainForm({ recordings, onClose, onBegin }: SelectionDialogProps) {
  const { busy, error, run } = useSubmit();
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const fields = fieldsOf(new FormData(event.currentTarget as HTMLFormElement));
    const resource = api().recordings;
    const transcribe = (id: string) => resource.transcribeAgain(id, fields, ONCE);
    void run(async () => {
      const begun = await tryFirst(recordings, transcribe);
      onBegin(transcribeMany(recordings, (id) => (id === begun ? Promise.resolve() : transcribe(id))));
    });
  };
  return (
    <form class="form" onSubmit={send}>
      <p class="muted">
        {t('Present transcripts stay until the new ones are ready. Corrections are kept and stay on display.')}
      </p>
      <AgainFields error={error.value} />
      <FormActions
        label={t('Transcribe again')}
        busyLabel={t('Transcribing…')}
        isBusy={busy.value}
        onCancel={onClose}
      />
    </form>
  );
}

/**
 * Asks for the first one: that tells whether the service takes the fields.
 * @returns its id, unless it was refused for another reason
 * @throws ApiError when the service does not take the fields
 */
async function tryFirst([first]: readonly Recording[], send: (id: string) => Promise<unknown>): Promise<string | null> {
  try {
    await send((first as Recording).id);
    return (first as Recording).id;
  } catch (error) {
    if (isApiError(error, 'ValidationError')) throw error;
    return null;
  }
}

function DeleteQuestion({ recordings, onClose, onBegin }: SelectionDialogProps) {
  const remove = () => {
    deleteWithUndo(
      recordings.map(({ id }) => id),
      recordings.map(titleOf),
    );
    onBegin(Promise.resolve());
  };
  return (
    <div class="form">
      <p>
        {t(
          'They are deleted with their audio and transcripts, also those on other pages. You can undo this for a few seconds.',
        )}
      </p>
      <FormActions
        label={t('Delete {count, plural, one {# recording} other {# recordings}}', { count: recordings.length })}
        busyLabel={t('Delete')}
        isBusy={false}
        isDanger
        onCancel={onClose}
        onConfirm={remove}
      />
    </div>
  );
}
