import { useSignal } from '@preact/signals';
import { ApiError, type RecordingDetails } from 'vnotes';

import { Dialog } from '../../../components/dialog';
import { Field } from '../../../components/field';
import { titleOf } from '../../../format/recording-title';
import { t } from '../../../language/texts';
import type { Note } from '../note';
import { RefusalNotice } from './again-dialog';

interface EditDialogProps {
  note: Note;
  open: boolean;
  onClose: () => void;
}

/** Renames a recording and changes its tags. */
export function EditDialog({ note, open, onClose }: EditDialogProps) {
  return (
    <Dialog open={open} title={t('Title and tags')} onClose={onClose}>
      <EditForm note={note} onClose={onClose} />
    </Dialog>
  );
}

function EditForm({ note, onClose }: Omit<EditDialogProps, 'open'>) {
  const recording = note.recording.value as RecordingDetails;
  const error = useSignal<unknown>(null);
  const sending = useSignal(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const changes = changesOf(new FormData(event.currentTarget as HTMLFormElement), recording);
    if (changes === null) return onClose();
    [sending.value, error.value] = [true, null];
    try {
      await note.update(changes);
      onClose();
    } catch (cause) {
      error.value = cause;
    }
    sending.value = false;
  };
  const field = error.value instanceof ApiError ? String(error.value.details.field) : '';
  const errorOf = (name: string) => (field === name ? (error.value as ApiError).message : undefined);
  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <Field label={t('Title')} hint={t('Leave empty to show the name of the file.')} error={errorOf('title')}>
        <input name="title" defaultValue={titleOf(recording)} maxLength={200} autocomplete="off" dir="auto" />
      </Field>
      <Field label={t('Tags')} hint={t('One per line, as ticket=T-1042.')} error={errorOf('custom_tags')}>
        <textarea name="tags" rows={3} defaultValue={linesOf(recording)} dir="auto" spellcheck={false} />
      </Field>
      {error.value !== null && field !== 'title' && field !== 'custom_tags' && <RefusalNotice error={error.value} />}
      <div class="form-actions">
        <button type="button" class="button" onClick={onClose}>
          {t('Cancel')}
        </button>
        <button type="submit" class="button is-primary" disabled={sending.value}>
          {t('Save')}
        </button>
      </div>
    </form>
  );
}

type Tags = Record<string, string>;

const linesOf = ({ custom_tags: tags }: RecordingDetails): string =>
  Object.entries(tags ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');

/** Only what differs; null when nothing does. */
function changesOf(form: FormData, recording: RecordingDetails): Parameters<Note['update']>[0] | null {
  const [title, lines] = [textOf(form, 'title'), textOf(form, 'tags')];
  const hasTitle = title !== titleOf(recording);
  const hasTags = lines !== linesOf(recording);
  if (!hasTitle && !hasTags) return null;
  return { ...(hasTitle && { title: title || null }), ...(hasTags && { tags: tagsOf(lines) }) };
}

/** A line without a sign of equality is a key without a value, which the service refuses if it is none. */
function tagsOf(text: string): Tags | null {
  const lines = text.split('\n').map((line) => line.trim());
  const tags = lines
    .filter((line) => line !== '')
    .map((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
  return tags.length > 0 ? (Object.fromEntries(tags) as Tags) : null;
}

function textOf(form: FormData, name: string): string {
  const value = form.get(name);
  return typeof value === 'string' ? value.replaceAll('\r\n', '\n').trim() : '';
}
