import type { LiveSignal } from '../live-signals.js';

/** How often the stored finals are read, in case that signals were lost. */
const POLL_MS = 2000;

/** An utterance that is complete. Times in seconds from the start of the recording. */
export interface FinalItem {
  item: number;
  text: string;
  start: number;
  end: number;
}

/** What a client is told. Of each item: its beginning, its text in increments, its end, and its final text, once each. */
export interface TranscriptListener {
  speechStarted: (item: number, at: number) => void;
  speechStopped: (item: number, at: number) => void;
  delta: (item: number, text: string) => void;
  final: (final: FinalItem) => void;
  problem: (message: string) => void;
}

interface StoredTranscript {
  finals: readonly FinalItem[];
  /** No more follow. */
  ended: boolean;
  problem: string | null;
}

export interface TranscriptSource {
  /** Null: signals may have been missed. */
  subscribe: (listener: (signal: LiveSignal | null) => void) => () => void;
  /** What is stored, of the items from `fromItem` on, in order. */
  read: (fromItem: number) => Promise<StoredTranscript>;
  onReadError: (error: unknown) => void;
}

/** What of an item was passed on. */
interface Passed {
  text: string;
  started: boolean;
  stopped: boolean;
}

/**
 * The words of one live recording, from signals that may be lost and from the rows of what is final. What is passed on is
 * in order: the text of an item is only added to, and nothing follows its final.
 */
export class TranscriptReader {
  private readonly open = new Map<number, Passed>();
  /** Finals that were passed on: all up to `finalsTo`, and those in the set. */
  private readonly finalsBeyond = new Set<number>();
  private finalsTo = -1;
  private reading: Promise<void> | null = null;
  private readonly timer: NodeJS.Timeout;
  private readonly unsubscribe: () => void;
  private resolveFinished: () => void = () => undefined;
  private problemShown = false;

  /** Resolves once nothing more will be recognised. */
  readonly finished = new Promise<void>((resolve) => {
    this.resolveFinished = resolve;
  });

  constructor(
    private readonly source: TranscriptSource,
    private readonly listener: TranscriptListener,
  ) {
    this.unsubscribe = source.subscribe((signal) => this.handle(signal));
    this.timer = setInterval(() => void this.readFinals(), POLL_MS);
  }

  close(): void {
    clearInterval(this.timer);
    this.unsubscribe();
  }

  /** Passes on what was missed of the signals. */
  readFinals(): Promise<void> {
    this.reading ??= this.read().finally(() => (this.reading = null));
    return this.reading;
  }

  private async read(): Promise<void> {
    try {
      const { finals, ended, problem } = await this.source.read(this.finalsTo + 1);
      for (const final of finals) this.passFinal(final);
      if (problem !== null) this.passProblem(problem);
      if (ended) this.resolveFinished();
    } catch (error) {
      this.source.onReadError(error);
    }
  }

  private handle(signal: LiveSignal | null): void {
    switch (signal?.type) {
      case undefined:
        void this.readFinals();
        break;
      case 'speech_started':
        this.passStart(signal.item, signal.at);
        break;
      case 'speech_stopped':
        this.passStop(signal.item, signal.at);
        break;
      case 'delta':
        this.passDelta(signal.item, signal.offset, signal.text);
        break;
      case 'final':
        this.passFinal(signal);
        break;
      case 'finished':
        void this.readFinals().then(() => this.resolveFinished());
        break;
      case 'problem':
        this.passProblem(signal.message);
        break;
    }
  }

  private passProblem(message: string): void {
    if (!this.problemShown) this.listener.problem(message);
    this.problemShown = true;
  }

  /** Null once the item is final. */
  private passed(item: number): Passed | null {
    if (item <= this.finalsTo || this.finalsBeyond.has(item)) return null;
    const known = this.open.get(item) ?? { text: '', started: false, stopped: false };
    this.open.set(item, known);
    return known;
  }

  private passStart(item: number, at: number): void {
    const passed = this.passed(item);
    if (!passed || passed.started) return;
    passed.started = true;
    this.listener.speechStarted(item, at);
  }

  private passStop(item: number, at: number): void {
    const passed = this.passed(item);
    if (!passed || passed.stopped) return;
    passed.stopped = true;
    this.listener.speechStopped(item, at);
  }

  /** One that does not continue the text is left out: the final makes up for it. */
  private passDelta(item: number, offset: number, text: string): void {
    const passed = this.passed(item);
    if (!passed || offset !== passed.text.length || text === '') return;
    passed.text += text;
    this.listener.delta(item, text);
  }

  private passFinal({ item, text, start, end }: FinalItem): void {
    const passed = this.passed(item);
    if (!passed) return;
    this.passStart(item, start);
    this.passStop(item, end);
    if (text.startsWith(passed.text)) this.passDelta(item, passed.text.length, text.slice(passed.text.length));
    this.open.delete(item);
    this.finalsBeyond.add(item);
    while (this.finalsBeyond.delete(this.finalsTo + 1)) this.finalsTo += 1;
    this.listener.final({ item, text, start, end });
  }
}
