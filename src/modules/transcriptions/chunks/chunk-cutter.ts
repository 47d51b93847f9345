import type { AudioChunk } from '../engines/transcription-engine.js';
import { ByteQueue } from '../decoding/byte-queue.js';
import { BYTES_PER_SECOND } from '../decoding/pcm.js';
import { FRAME_BYTES, FRAMES_PER_SECOND, SpeechDetector } from './speech-detector.js';

/** Audio is judged, speech or not, in blocks of 5 s. */
const BLOCK_BYTES = 5 * FRAMES_PER_SECOND * FRAME_BYTES;
/** Kept around speech, so that soft beginnings and ends stay. */
const PADDING = Math.round(0.3 * FRAMES_PER_SECOND);
/** Less speech than this in a piece is a click or a cough. */
const MIN_SPEECH = Math.round(0.1 * FRAMES_PER_SECOND);
/** A shorter dip may lie inside a word. */
const MIN_PAUSE = Math.round(0.15 * FRAMES_PER_SECOND);
/** So long a pause ends a piece early and is left out. */
const LONG_PAUSE = 2 * FRAMES_PER_SECOND;
/** A piece that must be cut is cut after this part of its greatest length, so that pieces do not get needlessly short. */
const CUT_FROM = 1 / 3;

/**
 * Cuts a stream of audio into pieces of speech of at most `maxPieceSeconds`, at its pauses. Stretches without speech
 * belong to no piece, so that an engine has nothing to make words of. Holds little more audio than one piece.
 */
export class ChunkCutter {
  private readonly maxFrames: number;
  private readonly detector = new SpeechDetector();
  /** Judged audio that is in no piece yet, one flag for each of its frames. */
  private readonly held = new ByteQueue();
  private spoken: boolean[] = [];
  /** Where the held audio starts, in frames from the start of the note. */
  private position = 0;
  /** Audio that waits to be judged. */
  private readonly fresh = new ByteQueue();
  private totalBytes = 0;
  private speech = 0;

  constructor(maxChunkSeconds: number) {
    this.maxFrames = Math.floor(maxChunkSeconds * FRAMES_PER_SECOND);
  }

  /** Length of everything pushed so far. */
  get durationSeconds(): number {
    return this.totalBytes / BYTES_PER_SECOND;
  }

  /** How much of the pieces given so far is speech, without the pauses between words. */
  get speechSeconds(): number {
    return this.speech / FRAMES_PER_SECOND;
  }

  /** Takes decoded audio, in chunks of any size, and gives the pieces that are complete with it. */
  *push(pcm: Buffer): Generator<AudioChunk> {
    this.totalBytes += pcm.length;
    this.fresh.push(pcm);
    while (this.fresh.length >= BLOCK_BYTES) {
      this.judge(this.fresh.take(BLOCK_BYTES));
      yield* this.cutAll(false);
    }
  }

  /** Gives the rest. */
  *end(): Generator<AudioChunk> {
    this.judge(this.fresh.take(this.fresh.length - (this.fresh.length % FRAME_BYTES)));
    yield* this.cutAll(true);
  }

  private judge(block: Buffer): void {
    this.held.push(block);
    this.spoken.push(...this.detector.judge(block));
  }

  private *cutAll(atEnd: boolean): Generator<AudioChunk> {
    for (;;) {
      const first = this.spoken.indexOf(true);
      this.drop(first < 0 ? this.spoken.length - (atEnd ? 0 : PADDING) : first - PADDING);
      const end = first < 0 ? null : this.endOfPiece(atEnd);
      if (end === null) return;
      const piece = this.take(end);
      if (piece) yield piece;
    }
  }

  /** Where the piece that begins with the held audio ends, in frames; null when more audio is needed to tell. */
  private endOfPiece(atEnd: boolean): number | null {
    const limit = Math.min(this.spoken.length, this.maxFrames);
    const pauses = this.pausesUpTo(limit);
    const long = pauses.find((pause) => pause.length >= LONG_PAUSE);
    if (long) return long.start + PADDING;
    if (this.spoken.length <= this.maxFrames)
      return atEnd ? Math.min(this.spoken.length, this.spoken.lastIndexOf(true) + 1 + PADDING) : null;
    const best = longest(pauses.filter((pause) => pause.start >= this.maxFrames * CUT_FROM));
    return best ? best.start + Math.round(best.length / 2) : limit;
  }

  private pausesUpTo(limit: number): Pause[] {
    const pauses: Pause[] = [];
    let speechEnd = this.spoken.indexOf(true);
    for (let frame = speechEnd; frame < limit; frame++) {
      if (!this.spoken[frame] && frame < limit - 1) continue;
      const length = frame - speechEnd - 1;
      if (length >= MIN_PAUSE) pauses.push({ start: speechEnd + 1, length });
      speechEnd = frame;
    }
    return pauses;
  }

  private take(end: number): AudioChunk | null {
    const start = this.position / FRAMES_PER_SECOND;
    const speech = this.spoken.slice(0, end).filter(Boolean).length;
    const pcm = this.drop(end);
    if (speech < MIN_SPEECH) return null;
    this.speech += speech;
    return { pcm, start };
  }

  private drop(frames: number): Buffer {
    const dropped = Math.max(0, frames);
    this.spoken = this.spoken.slice(dropped);
    this.position += dropped;
    return this.held.take(dropped * FRAME_BYTES);
  }
}

/** In frames of the held audio. */
interface Pause {
  start: number;
  length: number;
}

function longest(pauses: Pause[]): Pause | undefined {
  return pauses.toSorted((a, b) => b.length - a.length)[0];
}
