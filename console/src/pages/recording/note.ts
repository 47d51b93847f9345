import { computed, signal } from '@preact/signals';
import type { AccountEvent, Recording, RecordingRetention, Transcription, VoiceNotes } from 'vnotes';

import { beginnings, mayBeOld } from '../../session/live-events';
import { outdatePage } from '../recordings/kept-page';
import { SpeakerNaming } from './speakers/speaker-naming';
import { ProgressEstimate, type RunProgress } from './text/run-progress';
import { hasSpeakers } from './text/words';

/** Transcribing again: it is under way, or its last run failed for this reason. */
export type Again = { state: 'none' } | { state: 'pending' } | { state: 'failed'; reason: string };

/** Remembers over a reload that a recording is to be transcribed again: only then its versions are asked for it. */
const pendingKey = (id: string): string => `vnotes.again.${id}`;

const ALWAYS = ['transcription', 'retention', 'title', 'partial'] as const;

/** One recording with its text, kept up to date. */
export class Note {
  readonly recording = signal<Recording | null>(null);
  readonly transcription = signal<Transcription | null>(null);
  /** Why there is no text. */
  readonly failure = signal<string | null>(null);
  readonly peaks = signal<readonly number[] | null>(null);
  readonly again = signal<Again>({ state: 'none' });
  /** When something of it is deleted. */
  readonly retention = signal<RecordingRetention | null>(null);
  /** Of a long recording while it is transcribed, once a part of it is there. */
  readonly progress = signal<RunProgress | null>(null);
  readonly isDeleted = signal(false);
  readonly naming: SpeakerNaming;
  /** What kept it from being loaded. */
  readonly error = signal<unknown>(null);
  /** It is being transcribed, for the first time or again. */
  readonly isUnderWay = computed(
    () => this.recording.value?.status === 'processing' || this.again.value.state === 'pending',
  );
  /** It was asked for before events began, and may have changed in between. */
  readonly mayBeOld = computed(() => mayBeOld(this.askedAt.value, this.isUnderWay.value));
  private readonly estimate = new ProgressEstimate();
  private readonly askedAt = signal(0);
  private readonly ended = new AbortController();

  constructor(
    readonly client: VoiceNotes,
    readonly id: string,
  ) {
    this.naming = new SpeakerNaming(client, id, this.ended.signal);
  }

  async load(): Promise<void> {
    this.error.value = null;
    this.askedAt.value = beginnings.peek();
    try {
      // One request for all of it: a person on a small plan has ten a minute.
      const include = this.peaks.peek() ? ALWAYS : ([...ALWAYS, 'waveform'] as const);
      const found = await this.client.recordings.get(this.id, { include, ...this.options });
      const {
        transcription = null,
        failure_reason: reason = null,
        waveform,
        retention = null,
        partial = null,
        ...recording
      } = found;
      // Before the text is shown, so that no label is followed by its name.
      if (transcription && hasSpeakers(transcription.words)) await this.naming.load();
      this.retention.value = retention;
      this.progress.value =
        partial && this.estimate.next(partial.end, recording.duration_seconds, partial.text, Date.now());
      // The same text stays as it is drawn, as after one's own correction, of which an event tells as well.
      if (transcription?.etag !== this.transcription.peek()?.etag) this.transcription.value = transcription;
      this.failure.value = reason;
      // A recording without a waveform has a plain seek bar, whatever the cause.
      if (waveform && waveform.peaks.length > 0) this.peaks.value = waveform.peaks;
      this.recording.value = recording;
      void this.checkPending();
    } catch (error) {
      if (!this.ended.signal.aborted) this.error.value = error;
    }
  }

  async retry(): Promise<void> {
    await this.client.recordings.retry(this.id, this.options);
    await this.load();
  }

  async transcribeAgain(fields: Parameters<VoiceNotes['recordings']['transcribeAgain']>[1]): Promise<void> {
    const { status } = await this.client.recordings.transcribeAgain(this.id, fields, this.options);
    if (status === 'processing') return await this.load();
    sessionStorage.setItem(pendingKey(this.id), 'pending');
    this.again.value = { state: 'pending' };
  }

  async update(changes: Parameters<VoiceNotes['recordings']['update']>[1]): Promise<void> {
    this.recording.value = await this.client.recordings.update(this.id, changes, this.options);
    // No event tells the list.
    outdatePage();
  }

  /** @throws ApiError 412 when somebody else has saved another text */
  async correct(text: string, etag: string | null): Promise<void> {
    const corrected = await this.client.recordings.correct(this.id, { text }, { etag, ...this.options });
    this.transcription.value = corrected;
    // Other words are theirs now.
    if (hasSpeakers(corrected.words)) await this.naming.load().catch(() => undefined);
  }

  /** Original transcript is the text again. */
  async removeCorrection(): Promise<void> {
    await this.client.recordings.removeCorrection(this.id, this.options);
    await this.load();
  }

  /** Heeds what happened to this recording, by whomever. */
  heed({ event, body }: Pick<AccountEvent, 'event' | 'body'>): void {
    const { recording, error } = body as { recording?: { id: string }; error?: { message: string } };
    if (recording?.id !== this.id || event === 'recording.partial') return;
    if (event === 'recording.deleted') this.isDeleted.value = true;
    else if (event === 'recording.failed' && this.transcription.peek()) {
      this.endAgain({ state: 'failed', reason: error?.message ?? '' });
    } else {
      if (event === 'recording.transcribed') this.endAgain({ state: 'none' });
      void this.load();
    }
  }

  endAgain(again: Again): void {
    sessionStorage.removeItem(pendingKey(this.id));
    this.again.value = again;
  }

  dispose(): void {
    this.ended.abort();
  }

  private get options(): { signal: AbortSignal } {
    return { signal: this.ended.signal };
  }

  private async checkPending(): Promise<void> {
    if (sessionStorage.getItem(pendingKey(this.id)) === null) return;
    const page = await this.client.recordings.versions(this.id, { limit: 1 }, this.options).then(
      ({ pending }) => pending,
      () => null,
    );
    if (page) this.again.value = { state: 'pending' };
    else if (this.again.peek().state === 'pending') this.endAgain({ state: 'none' });
    else sessionStorage.removeItem(pendingKey(this.id));
  }
}
