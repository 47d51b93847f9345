import { signal } from '@preact/signals';

export interface NoteDetails {
  language: string;
  tags: Record<string, string>;
  speakers: string;
}

/** With the name of its file. */
export interface Description extends NoteDetails {
  name: string;
}

/** What the form of the page for recording says, while it is shown: files that are added there get the same. */
export const formDetails = signal<NoteDetails | null>(null);

export function newNoteDetails(): NoteDetails {
  return formDetails.value ?? { language: '', tags: {}, speakers: '' };
}
