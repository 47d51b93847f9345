import { BYTES_PER_SECOND } from '../audio/pcm.js';
import { vocabularyFor, type VocabularySources } from '../engines/engine-vocabulary.js';
import type { EngineRuntime } from '../engines/engine-runtimes.service.js';
import type { AudioChunk } from '../engines/transcription-engine.js';
import { dropInventedWords } from '../speech/invented-words.js';
import { storable } from '../worker/join-transcripts.js';
import type { LiveRecogniser, UtteranceText } from './live-recogniser.js';

/** Words appear when an utterance is done, so that one must not last long. */
const MAX_SECONDS = 10;

/** Any engine: each utterance is a chunk in its queue, before the other chunks of the account. */
export class ChunkRecogniser implements LiveRecogniser {
  readonly provider: string;
  readonly model: string;
  readonly maxSeconds: number;
  private readonly entry;
  private readonly closing = new AbortController();
  private utterance: Buffer[] = [];

  constructor(
    private readonly runtime: EngineRuntime,
    private readonly speech: { accountId: string; language: string | null; vocabulary?: VocabularySources | undefined },
  ) {
    this.provider = runtime.engine.name;
    this.model = runtime.engine.model;
    this.maxSeconds = Math.min(MAX_SECONDS, runtime.maxChunkSeconds);
    this.entry = runtime.queue.join(speech.accountId, false, true);
  }

  async add(pcm: Buffer): Promise<readonly []> {
    this.utterance.push(pcm);
    return [];
  }

  async end(): Promise<UtteranceText> {
    const chunk: AudioChunk = { pcm: Buffer.concat(this.utterance), start: 0 };
    this.utterance = [];
    const { runtime, speech, closing } = this;
    const { engine } = runtime;
    const options = {
      language: speech.language,
      vocabulary: vocabularyFor(engine, speech.vocabulary),
      signal: closing.signal,
    };
    const transcript = await this.entry.run(
      () => engine.transcribe(chunk, options),
      chunk.pcm.length / BYTES_PER_SECOND,
    );
    runtime.succeeded();
    return storable(dropInventedWords(engine.name, chunk, transcript));
  }

  drop(): void {
    this.utterance = [];
  }

  close(): void {
    this.closing.abort(new Error('the live recording has ended'));
    this.entry.leave();
  }
}
