import { computed, signal } from '@preact/signals';
import { ApiError, type Speaker, type Speakers, type VoiceNotes } from 'vnotes';

import { type Text } from '../../../language/texts';
import { isSameNames, namesOf, type Person, personsOf, renamed, type SpeakerNames } from './speakers';

export const NAMES_CHANGED: Text = 'Someone else has changed the names. Check them, then try again.';

/** Somebody else has changed the names meanwhile: theirs are shown, and the next attempt changes those. */
export class NamesChangedError extends Error {}

/** Who speaks in a recording, and what they are called. */
export class SpeakerNaming {
  private readonly labelled = signal<readonly Speaker[]>([]);
  readonly persons = computed(() => personsOf(this.labelled.value));
  /** Which labels are the same person, as text that is the same as long as they are. */
  readonly identity = computed(() => this.persons.value.map(({ labels }) => labels.join('=')).join());
  private readonly byLabel = computed(
    () => new Map(this.persons.value.flatMap((person) => person.labels.map((label) => [label, person] as const))),
  );
  private etag: string | null = null;
  /** One change at a time: each needs the tag of the one before. */
  private queue: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: VoiceNotes,
    private readonly recordingId: string,
    private readonly ended: AbortSignal,
  ) {}

  /** Whom a label stands for. One that the service does not know, of an earlier version of the text, is itself. */
  personOf(label: string): Person {
    const person = this.byLabel.value.get(label);
    return person ?? (personsOf([{ speaker: label, name: null, words: 0, seconds: 0 }])[0] as Person);
  }

  async load(): Promise<void> {
    this.show(await this.client.recordings.speakers(this.recordingId, { signal: this.ended }));
  }

  /**
   * Names a person.
   * @param name as that of another person: from now on they are one; null: the labels are shown again
   * @returns what takes it back
   * @throws NamesChangedError
   */
  async rename(labels: readonly string[], name: string | null): Promise<() => Promise<void>> {
    const before = namesOf(this.labelled.peek());
    await this.change((names) => renamed(names, labels, name));
    return async () => {
      const restore = (names: SpeakerNames) =>
        labels.reduce((rest, label) => renamed(rest, [label], before[label] ?? null), names);
      await this.change(restore);
    };
  }

  /** Both get the same name, which makes them one person. @returns what takes it back */
  async merge(person: Person, other: Person): Promise<() => Promise<void>> {
    return await this.rename([...other.labels, ...person.labels], other.title);
  }

  /** Takes from all but the first of its labels the name that made them one. @returns what takes it back */
  async separate({ labels }: Person): Promise<() => Promise<void>> {
    return await this.rename(labels.slice(1), null);
  }

  private async change(next: (names: SpeakerNames) => SpeakerNames): Promise<void> {
    const change = this.sendAfter(this.queue, next);
    this.queue = change.catch(() => undefined);
    await change;
  }

  private async sendAfter(before: Promise<unknown>, next: (names: SpeakerNames) => SpeakerNames): Promise<void> {
    await before;
    await this.send(next);
  }

  private async send(next: (names: SpeakerNames) => SpeakerNames): Promise<void> {
    const before = namesOf(this.labelled.peek());
    const wanted = next(before);
    if (isSameNames(before, wanted)) return;
    try {
      await this.put(wanted);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      await this.load();
      const present = namesOf(this.labelled.peek());
      // The answer to an attempt was lost, or only the text has changed.
      if (isSameNames(present, wanted)) return;
      if (!isSameNames(present, before)) throw new NamesChangedError();
      await this.put(wanted);
    }
  }

  private async put(names: SpeakerNames): Promise<void> {
    const speakers = Object.entries(names).map(([speaker, name]) => ({ speaker, name }));
    const options = { etag: this.etag, signal: this.ended };
    this.show(await this.client.recordings.nameSpeakers(this.recordingId, speakers, options));
  }

  private show({ speakers, etag }: Speakers): void {
    this.labelled.value = speakers;
    this.etag = etag;
  }
}
