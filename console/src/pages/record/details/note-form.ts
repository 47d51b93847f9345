import { computed, signal } from '@preact/signals';

import type { AudioType } from '../../../capture/audio-type';
import type { Description } from '../../../uploads/new-note-details';
import { filenameOfTitle } from '../../../format/recording-title';
import { tagError, tagsError, type TagRow, tagsOf } from './tag-rules';

/** What the person says of the next recording. It stays while other pages are shown. */
export const noteTitle = signal('');
export const noteLanguage = signal('');
/** As an upload item has it. */
export const noteSpeakers = signal('');
/** Only with a first one. */
export const noteSecondLanguage = signal('');
export const noteTags = signal<readonly TagRow[]>([]);

/** As an upload takes them: with a comma between two. */
export const noteLanguages = computed(() => {
  const [first, second] = [noteLanguage.value, noteSecondLanguage.value];
  return first === '' || second === '' || first === second ? first : `${first},${second}`;
});

export const isNoteValid = computed(
  () => tagsError(noteTags.value) === null && noteTags.value.every((row) => tagError(row, noteTags.value) === null),
);

let lastTag = 0;

export function addTag(): void {
  lastTag += 1;
  noteTags.value = [...noteTags.value, { id: lastTag, key: '', value: '' }];
}

export function changeTag(id: number, fields: Partial<TagRow>): void {
  noteTags.value = noteTags.value.map((row) => (row.id === id ? { ...row, ...fields } : row));
}

export function removeTag(id: number): void {
  noteTags.value = noteTags.value.filter((row) => row.id !== id);
}

/** @param startedAt names a recording without a title */
export function describeNote({ extension }: AudioType, startedAt: Date): Description {
  const title = noteTitle.value.trim() || `Voice note ${stampOf(startedAt)}`;
  const name = filenameOfTitle(title, extension);
  return { name, language: noteLanguages.value, tags: tagsOf(noteTags.value), speakers: noteSpeakers.value };
}

/** `2026-11-22 14.02`: some systems take no colon in the name of a file. */
function stampOf(date: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}.${two(date.getMinutes())}`;
}
