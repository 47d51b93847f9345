import type { AudioPiece } from '../engines/transcription-engine.js';
import { BYTES_PER_SECOND } from './pcm.js';
import { frameLevels, FRAME_BYTES, FRAMES_PER_SECOND, speechFrames } from './speech-frames.js';

/** Kept around speech, so that soft beginnings and ends stay. */
const PADDING = Math.round(0.3 * FRAMES_PER_SECOND);
/** Less than this much speech in a piece is a click or a cough. */
const MIN_SPEECH = Math.round(0.1 * FRAMES_PER_SECOND);
/** A shorter dip may lie inside a word. */
const MIN_PAUSE = Math.round(0.15 * FRAMES_PER_SECOND);
/** So long a pause ends a piece and is left out. */
const LONG_PAUSE = Math.round(2 * FRAMES_PER_SECOND);
/** A piece that must be cut is cut in its second part, so that pieces do not get needlessly short. */
const CUT_FROM = 1 / 3;

/**
 * Cuts a stream of audio into pieces of speech of at most `maxPieceSeconds`, at its pauses. Stretches without speech
 * belong to no piece, so that an engine has nothing to make words of. Holds no more than one piece of audio.
 */
export class PieceCutter {
  private readonly maxFrames: number;
  private held: Buffer[] = [];
  private heldBytes = 0;
  /** Where the held audio starts, in frames from the start of the note. */
  private position = 0;
  private totalBytes = 0;
  private speech = 0;

  constructor(maxPieceSeconds: number) {
    this.maxFrames = Math.floor(maxPieceSeconds * FRAMES_PER_SECOND);
  }

  /** Length of everything pushed so far. */
  get durationSeconds(): number {
    return this.totalBytes / BYTES_PER_SECOND;
  }

  /** How much of the pieces given so far is speech, pauses between words left out. */
  get speechSeconds(): number {
    return this.speech / FRAMES_PER_SECOND;
  }

  /** Takes decoded audio and gives the pieces that are complete with it. */
  *push(pcm: Buffer): Generator<AudioPiece> {
    this.totalBytes += pcm.length;
    this.hold(pcm);
    while (this.heldBytes >= this.maxFrames * FRAME_BYTES) {
      const piece = this.next(false);
      if (piece) yield piece;
    }
  }

  /** The rest. */
  *end(): Generator<AudioPiece> {
    while (this.heldBytes >= FRAME_BYTES) {
      const piece = this.next(true);
      if (piece) yield piece;
    }
  }

  /** Takes a piece or some silence off the held audio: at least one frame, so that the loops end. */
  private next(atEnd: boolean): AudioPiece | null {
    const pcm = Buffer.concat(this.held);
    const spoken = speechFrames(frameLevels(pcm));
    const first = spoken.indexOf(true);
    if (first < 0) return this.skip(pcm, atEnd ? spoken.length : Math.max(1, spoken.length - PADDING));
    const from = Math.max(0, first - PADDING);
    const wanting = from > 0 && !atEnd && spoken.length - from < this.maxFrames;
    if (wanting) return this.skip(pcm, from);
    const { end, next } = this.cut(spoken, first, atEnd);
    const speech = spoken.slice(from, end).filter(Boolean).length;
    const start = (this.position + from) / FRAMES_PER_SECOND;
    this.skip(pcm, next);
    if (speech < MIN_SPEECH) return null;
    this.speech += speech;
    return { pcm: pcm.subarray(from * FRAME_BYTES, end * FRAME_BYTES), start };
  }

  /** Where the piece ends and where the next may begin, in frames of the held audio. */
  private cut(spoken: boolean[], first: number, atEnd: boolean): { end: number; next: number } {
    const from = Math.max(0, first - PADDING);
    const limit = Math.min(spoken.length, from + this.maxFrames);
    const pauses = pausesBetween(spoken, first, limit);
    const long = pauses.find((pause) => pause.length >= LONG_PAUSE);
    const fits = atEnd && limit === spoken.length;
    if (!long && fits) return { end: limit, next: limit };
    const earliest = from + this.maxFrames * CUT_FROM;
    const pause = long ?? longest(pauses.filter((candidate) => candidate.start >= earliest));
    if (!pause) return { end: limit, next: limit };
    const middle = pause.start + Math.floor(pause.length / 2);
    return { end: Math.min(middle, pause.start + PADDING), next: Math.max(middle, pause.start + pause.length - PADDING) };
  }

  private hold(pcm: Buffer): void {
    this.held.push(pcm);
    this.heldBytes += pcm.length;
  }

  private skip(pcm: Buffer, frames: number): null {
    this.position += frames;
    const rest = pcm.subarray(frames * FRAME_BYTES);
    this.held = [rest];
    this.heldBytes = rest.length;
    return null;
  }
}

interface Pause {
  start: number;
  length: number;
}

/** Pauses after the first speech that begin before `limit`; the last may reach to it. */
function pausesBetween(spoken: boolean[], first: number, limit: number): Pause[] {
  const pauses: Pause[] = [];
  let start = -1;
  for (let frame = first; frame <= limit; frame++) {
    const pausing = frame < limit && !spoken[frame];
    if (pausing && start < 0) start = frame;
    if (pausing || start < 0) continue;
    if (frame - start >= MIN_PAUSE) pauses.push({ start, length: frame - start });
    start = -1;
  }
  return pauses;
}

function longest(pauses: Pause[]): Pause | undefined {
  return pauses.reduce<Pause | undefined>((best, pause) => (best && best.length >= pause.length ? best : pause), undefined);
}
