import { computed, signal } from '@preact/signals';
import { ApiError, type Transcription } from 'vnotes';

import type { Note } from '../note';
import { randomId } from '../../../uploads/store/upload-item';
import { type Draft, DraftWriter, removeDraft } from './drafts';
import { EditedText, type Paragraph } from './edited-text';

/** What the service accepts. */
export const LONGEST_TEXT = 200_000;

/** A correction in the making. Each change is kept as a draft at once. */
export class Correction {
  readonly edited: EditedText;
  readonly text = signal('');
  readonly isTooLong = computed(() => isTooLong(this.text.value));
  readonly saving = signal(false);
  readonly error = signal<unknown>(null);
  /** What somebody else has saved meanwhile. */
  readonly conflict = signal<Transcription | null>(null);
  readonly isKept = signal(true);
  private etag: string | null;
  private readonly draftId = randomId();
  /** The draft that this one goes on with, until this one is stored. */
  private continued: string | null;
  private readonly drafts = new DraftWriter(() => (this.isKept.value = false));

  private readonly initial: string;

  /**
   * @param blocks of the text, or of the draft if there is one
   * @param draft that was left
   */
  constructor(
    private readonly note: Note,
    blocks: readonly Paragraph[],
    transcription: Transcription,
    private readonly draft: Draft | null,
  ) {
    this.edited = new EditedText([...blocks], () => this.change());
    this.initial = this.edited.text;
    this.text.value = this.initial;
    this.etag = draft ? draft.etag : transcription.etag;
    this.continued = draft?.id ?? null;
  }

  get isChanged(): boolean {
    return this.draft !== null || this.text.peek() !== this.initial;
  }

  change(): void {
    const { text } = this.edited;
    this.text.value = text;
    const { draftId: id, etag } = this;
    this.drafts.write({ id, recordingId: this.note.id, text, etag, savedAt: Date.now() });
    void this.dropContinued();
  }

  /** @returns whether it is saved */
  async save(): Promise<boolean> {
    this.saving.value = true;
    this.error.value = null;
    // Shown before a long text is sent.
    await new Promise(requestAnimationFrame);
    try {
      const present = this.note.transcription.peek();
      const isPresent = present?.etag === this.etag && this.conflict.peek() === null;
      if (this.isChanged || !isPresent) await this.note.correct(this.text.peek(), this.etag);
      await this.discard();
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) await this.meet();
      else this.error.value = error;
      return false;
    } finally {
      this.saving.value = false;
    }
  }

  /** Overwrites what somebody else has saved. */
  async keepMine(): Promise<boolean> {
    this.etag = this.conflict.peek()?.etag ?? this.etag;
    const isSaved = await this.save();
    if (isSaved) this.conflict.value = null;
    return isSaved;
  }

  /** Goes on editing: the next save overwrites what was shown. */
  goOn(): void {
    this.etag = this.conflict.peek()?.etag ?? this.etag;
    this.conflict.value = null;
    this.change();
  }

  async discard(): Promise<void> {
    await this.drafts.remove(this.draftId);
    await this.dropContinued();
  }

  private async dropContinued(): Promise<void> {
    const id = this.continued;
    this.continued = null;
    if (id !== null) await removeDraft(id);
  }

  private async meet(): Promise<void> {
    try {
      this.conflict.value = await this.note.client.recordings.transcription(this.note.id);
    } catch (error) {
      this.error.value = error;
    }
  }
}

const isTooLong = (text: string): boolean => text.length > LONGEST_TEXT && [...text].length > LONGEST_TEXT;
