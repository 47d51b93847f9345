import { BYTES_PER_SECOND } from '../audio/pcm.js';
import type { EngineChild } from '../engines/children/engine-child.js';
import {
  type ChunkTranscript,
  EngineError,
  EngineUnavailableError,
  type TranscriptWord,
} from '../engines/transcription-engine.js';
import type { LiveChildren } from './live-children.js';
import type { LiveRecogniser, UtteranceText } from './live-recogniser.js';
import { StableWords } from './stable-words.js';
import type { StreamingModel } from './streaming-model.js';

/** A piece takes less time than it is long. A hundred times that counts as a hang. */
const LIMIT = { baseMs: 30_000, perAudioSecondMs: 10_000 };
/** A process is kept so long between two utterances. */
const IDLE_MS = 10_000;

/** An engine that decodes while audio comes, in a process of its own. One that is lost is replaced once per utterance. */
export class StreamingRecogniser implements LiveRecogniser {
  readonly provider: string;
  readonly model: string;
  readonly maxSeconds: number;
  private child: EngineChild | null = null;
  /** Whether the process has heard nothing of this speaker. */
  private isNew = true;
  private utterance: Buffer[] = [];
  private bytes = 0;
  private stable = new StableWords();
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly children: LiveChildren,
    { provider, model, maxSeconds }: StreamingModel,
    private readonly closed: () => void,
  ) {
    this.provider = provider;
    this.model = model;
    this.maxSeconds = maxSeconds;
  }

  async add(pcm: Buffer): Promise<readonly TranscriptWord[]> {
    const { words } = await this.send(pcm, false);
    return this.stable.add(words, this.bytes / BYTES_PER_SECOND);
  }

  async end(): Promise<UtteranceText> {
    try {
      const { text, words } = await this.send(Buffer.alloc(0), true);
      return { text, words };
    } finally {
      this.forget();
      clearTimeout(this.idle);
      this.idle = setTimeout(() => this.giveBack(), IDLE_MS).unref();
    }
  }

  drop(): void {
    this.forget();
    this.giveBack();
  }

  close(): void {
    clearTimeout(this.idle);
    this.drop();
    this.closed();
  }

  private async send(pcm: Buffer, ends: boolean): Promise<ChunkTranscript> {
    clearTimeout(this.idle);
    this.utterance.push(pcm);
    this.bytes += pcm.length;
    try {
      return await this.request(pcm, ends);
    } catch (error) {
      if (!(error instanceof EngineError) || error instanceof EngineUnavailableError) throw error;
      this.giveBack();
      return await this.request(Buffer.concat(this.utterance), ends);
    }
  }

  private async request(pcm: Buffer, ends: boolean): Promise<ChunkTranscript> {
    const live = { isNew: this.child === null || this.isNew, ends };
    this.child ??= this.children.take();
    this.isNew = false;
    return await this.child.transcribe(
      pcm,
      { live },
      LIMIT.baseMs + (this.bytes / BYTES_PER_SECOND) * LIMIT.perAudioSecondMs,
    );
  }

  private forget(): void {
    [this.utterance, this.bytes, this.stable] = [[], 0, new StableWords()];
  }

  private giveBack(): void {
    if (this.child) this.children.give(this.child);
    [this.child, this.isNew] = [null, true];
  }
}
