import type { AudioChunk, SpeechSection } from '../engines/transcription-engine.js';
import { ByteQueue, BYTES_PER_SECOND } from './pcm.js';
import { FRAME_BYTES, FRAMES_PER_SECOND, type SpeechDetector } from '../speech/speech-detector.js';

/** Speech is detected in blocks of 5 s. */
const BLOCK_BYTES = 5 * FRAMES_PER_SECOND * FRAME_BYTES;
/** Kept before and after speech, which may begin and end softly. */
const PADDING = Math.round(0.3 * FRAMES_PER_SECOND);
/** A chunk with less speech than this is a click or a cough. */
const MIN_SPEECH = Math.round(0.1 * FRAMES_PER_SECOND);
/** A shorter pause may lie inside a word. */
const MIN_PAUSE = Math.round(0.15 * FRAMES_PER_SECOND);
/** A pause of this length ends a chunk early and is left out. */
const LONG_PAUSE = 2 * FRAMES_PER_SECOND;
/** A cut comes after this share of the maximum length, so that chunks do not become needlessly short. */
const CUT_FROM = 1 / 3;
/**
 * Where there is no pause to cut at, the next chunk begins with so much of this one, so that a word that the cut divides
 * is whole in one of them. Longer than any word, with others beside it. A sixth of short chunks, which bounds its cost.
 */
const OVERLAP = 2 * FRAMES_PER_SECOND;
const MAX_OVERLAP = 1 / 6;

/**
 * Cuts a stream of audio at its pauses, into chunks of speech of at most `maxChunkSeconds`. Audio without speech is left
 * out, because engines invent words in silence. Chunks that are cut within speech overlap (D89). Holds little more audio
 * than one chunk.
 */
export class ChunkCutter {
  private readonly maxFrames: number;
  private readonly overlapFrames: number;
  /** Audio that is in no chunk yet; `isSpeech` has one flag for each of its frames that is analysed. */
  private readonly held = new ByteQueue();
  private isSpeech: boolean[] = [];
  /** Start of the held audio, in frames from the start of the recording. */
  private position = 0;
  /** Audio that is not analysed yet. */
  private readonly pending = new ByteQueue();
  private totalBytes = 0;
  private speechFrames = 0;
  /** End of the last chunk, which may be within the held audio; like `position`. */
  private taken = 0;

  constructor(
    maxChunkSeconds: number,
    private readonly detector: SpeechDetector,
  ) {
    this.maxFrames = Math.floor(maxChunkSeconds * FRAMES_PER_SECOND);
    this.overlapFrames = Math.min(OVERLAP, Math.floor(this.maxFrames * MAX_OVERLAP));
  }

  /** Length of all audio so far. */
  get durationSeconds(): number {
    return this.totalBytes / BYTES_PER_SECOND;
  }

  /** Speech in the chunks so far, without the pauses between words. */
  get speechSeconds(): number {
    return this.speechFrames / FRAMES_PER_SECOND;
  }

  /** Adds decoded audio, in buffers of any size. @returns the chunks that it completes */
  async *push(pcm: Buffer): AsyncGenerator<AudioChunk> {
    this.totalBytes += pcm.length;
    this.pending.push(pcm);
    while (this.pending.length >= BLOCK_BYTES) {
      await this.analyse(this.pending.take(BLOCK_BYTES));
      yield* this.cutAll(false);
    }
  }

  /** @returns the remaining chunks */
  async *end(): AsyncGenerator<AudioChunk> {
    await this.analyse(this.pending.take(this.pending.length - (this.pending.length % FRAME_BYTES)));
    this.isSpeech.push(...(await this.detector.end()));
    yield* this.cutAll(true);
  }

  /** Frees the detector. */
  close(): void {
    this.detector.close();
  }

  private async analyse(block: Buffer): Promise<void> {
    this.held.push(block);
    this.isSpeech.push(...(await this.detector.detect(block)));
  }

  private *cutAll(atEnd: boolean): Generator<AudioChunk> {
    for (;;) {
      const first = this.isSpeech.indexOf(true);
      this.drop(first < 0 ? this.isSpeech.length - (atEnd ? 0 : PADDING) : first - PADDING);
      const cut = first < 0 ? null : this.nextCut(atEnd);
      if (cut === null) return;
      const chunk = this.take(cut);
      if (chunk) yield chunk;
    }
  }

  /** Where the chunk that starts with the held audio ends; null when more audio is needed to decide. */
  private nextCut(atEnd: boolean): Cut | null {
    const limit = Math.min(this.isSpeech.length, this.maxFrames);
    const pauses = this.pausesUpTo(limit);
    const long = pauses.find((pause) => pause.length >= LONG_PAUSE);
    if (long) return { end: long.start + PADDING, overlap: 0 };
    if (this.isSpeech.length <= this.maxFrames) {
      const end = Math.min(this.isSpeech.length, this.isSpeech.lastIndexOf(true) + 1 + PADDING);
      return atEnd ? { end, overlap: 0 } : null;
    }
    const best = longest(pauses.filter((pause) => pause.start >= this.maxFrames * CUT_FROM));
    if (best) return { end: best.start + Math.round(best.length / 2), overlap: 0 };
    return { end: limit, overlap: this.overlapFrames };
  }

  private pausesUpTo(limit: number): Pause[] {
    const pauses: Pause[] = [];
    let speechEnd = this.isSpeech.indexOf(true);
    for (let frame = speechEnd; frame < limit; frame++) {
      if (!this.isSpeech[frame] && frame < limit - 1) continue;
      const length = frame - speechEnd - 1;
      if (length >= MIN_PAUSE) pauses.push({ start: speechEnd + 1, length });
      speechEnd = frame;
    }
    return pauses;
  }

  private take({ end, overlap }: Cut): AudioChunk | null {
    const start = this.position / FRAMES_PER_SECOND;
    const isSpeech = this.isSpeech.slice(0, end);
    const fresh = countSpeech(isSpeech.slice(Math.max(0, this.taken - this.position)));
    this.taken = this.position + end;
    const pcm = this.drop(end - overlap, end);
    if (fresh === 0 || countSpeech(isSpeech) < MIN_SPEECH) return null;
    this.speechFrames += fresh;
    return {
      pcm,
      start,
      ...(this.detector.knowsVoices && { speech: sectionsOf(isSpeech) }),
      ...(overlap > 0 && { continues: true as const }),
    };
  }

  /** @returns the dropped audio, and more of it up to frame `until` */
  private drop(frames: number, until = frames): Buffer {
    const dropped = Math.max(0, frames);
    this.isSpeech = this.isSpeech.slice(dropped);
    this.position += dropped;
    const pcm = this.held.take(Math.max(dropped, until) * FRAME_BYTES);
    // A copy, so that it does not keep the whole chunk.
    if (until > dropped) this.held.putBack(Buffer.from(pcm.subarray(dropped * FRAME_BYTES)));
    return pcm;
  }
}

const countSpeech = (isSpeech: readonly boolean[]): number => isSpeech.filter(Boolean).length;

/** The runs of speech, in seconds. */
function sectionsOf(isSpeech: readonly boolean[]): SpeechSection[] {
  const sections: SpeechSection[] = [];
  for (let frame = 0; frame < isSpeech.length; frame++) {
    if (!isSpeech[frame]) continue;
    const start = frame;
    while (isSpeech[frame]) frame++;
    sections.push({ start: start / FRAMES_PER_SECOND, end: frame / FRAMES_PER_SECOND });
  }
  return sections;
}

/** The end of a chunk, and how much of its end belongs to the next as well; in frames of the held audio. */
interface Cut {
  end: number;
  overlap: number;
}

/** In frames of the held audio. */
interface Pause {
  start: number;
  length: number;
}

function longest(pauses: Pause[]): Pause | undefined {
  return pauses.toSorted((a, b) => b.length - a.length)[0];
}
