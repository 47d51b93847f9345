import { ByteQueue, BYTES_PER_SECOND } from '../audio/pcm.js';
import { FRAME_BYTES, FRAMES_PER_SECOND, type SpeechDetector } from '../speech/speech-detector.js';

/** Times in seconds from the start of the stream. */
export type UtterancePart =
  | { type: 'start'; at: number }
  | { type: 'audio'; pcm: Buffer }
  /** `at`: the end of the speech and what is kept after it; the next utterance begins there at the earliest. */
  | { type: 'end'; at: number };

/** Kept before and after speech, which may begin and end softly. */
const PADDING = Math.round(0.3 * FRAMES_PER_SECOND);
/** Less speech than this is a click. */
const MIN_SPEECH = Math.round(0.1 * FRAMES_PER_SECOND);
/** A pause of this length ends an utterance. */
const PAUSE = Math.round(0.6 * FRAMES_PER_SECOND);
/** The same once the utterance is nearly as long as it may be. */
const SHORTEST_PAUSE = Math.round(0.15 * FRAMES_PER_SECOND);
/** What is passed on at once: a recogniser answers each time. */
const PIECE_BYTES = 0.1 * BYTES_PER_SECOND;
/** From this share of the longest length on, shorter and shorter pauses end an utterance. */
const SHORTER_FROM = 0.5;

/**
 * Cuts a stream at its pauses while it comes. Audio outside utterances is dropped, so that silence costs no more than its
 * detection.
 */
export class UtteranceCutter {
  private readonly maxFrames: number;
  /** Audio whose frames are not judged yet. */
  private readonly pending = new ByteQueue();
  /** Audio that is judged and was not passed on: before an utterance, what may belong to it. */
  private readonly held = new ByteQueue();
  /** Frames judged so far. */
  private position = 0;
  private rest = Buffer.alloc(0);
  /** First frame of the utterance; null between two. */
  private start: number | null = null;
  /** Frames of speech in a row. */
  private run = 0;
  /** The frame after the last speech. */
  private speechEnd = 0;

  /**
   * @param startSeconds of the stream in the recording
   * @param cutsAtPauses false: the end of the stream and the longest length alone end an utterance
   */
  constructor(
    maxSeconds: number,
    private readonly detector: SpeechDetector,
    private readonly startSeconds = 0,
    private readonly cutsAtPauses = true,
  ) {
    this.maxFrames = Math.floor(maxSeconds * FRAMES_PER_SECOND);
  }

  /** Adds audio in buffers of any size. */
  async push(pcm: Buffer): Promise<UtterancePart[]> {
    const bytes = Buffer.concat([this.rest, pcm]);
    const whole = bytes.length - (bytes.length % FRAME_BYTES);
    this.rest = Buffer.from(bytes.subarray(whole));
    if (whole === 0) return [];
    this.pending.push(bytes.subarray(0, whole));
    return this.judge(await this.detector.detect(bytes.subarray(0, whole)));
  }

  async end(): Promise<UtterancePart[]> {
    const parts = this.judge(await this.detector.end());
    if (this.start !== null) parts.push(...this.finish(this.cutsAtPauses ? this.speechEnd + PADDING : this.position));
    return parts;
  }

  /** Frees the detector. */
  close(): void {
    this.detector.close();
  }

  private judge(flags: readonly boolean[]): UtterancePart[] {
    const parts: UtterancePart[] = [];
    for (const isSpeech of flags) {
      this.held.push(this.pending.take(FRAME_BYTES));
      this.position++;
      this.run = isSpeech ? this.run + 1 : 0;
      if (this.start === null) parts.push(...this.waitForSpeech());
      else parts.push(...this.goOn(isSpeech));
      if (this.start !== null && this.held.length >= PIECE_BYTES) parts.push(this.piece());
    }
    return parts;
  }

  private waitForSpeech(): UtterancePart[] {
    const kept = PADDING + MIN_SPEECH;
    if (this.held.length > kept * FRAME_BYTES) this.held.take(this.held.length - kept * FRAME_BYTES);
    if (this.run < MIN_SPEECH) return [];
    this.start = this.position - this.held.length / FRAME_BYTES;
    this.speechEnd = this.position;
    return [{ type: 'start', at: this.secondsAt(this.start) }];
  }

  private goOn(isSpeech: boolean): UtterancePart[] {
    if (isSpeech) this.speechEnd = this.position;
    const length = this.position - (this.start ?? 0);
    if (length >= this.maxFrames) return this.finish(this.position);
    const pause = this.position - this.speechEnd;
    return pause >= this.pauseAt(length) ? this.finish(Math.min(this.position, this.speechEnd + PADDING)) : [];
  }

  /** The pause that ends an utterance of this length, in frames. */
  private pauseAt(length: number): number {
    if (!this.cutsAtPauses) return Infinity;
    const from = this.maxFrames * SHORTER_FROM;
    const share = Math.max(0, (length - from) / (this.maxFrames - from));
    return PAUSE - share * (PAUSE - SHORTEST_PAUSE);
  }

  private piece(): UtterancePart {
    return { type: 'audio', pcm: this.held.take(this.held.length) };
  }

  private finish(end: number): UtterancePart[] {
    this.start = null;
    this.run = 0;
    const parts = this.held.length > 0 ? [this.piece()] : [];
    return [...parts, { type: 'end', at: this.secondsAt(Math.min(end, this.position)) }];
  }

  private secondsAt(frame: number): number {
    return this.startSeconds + (frame * FRAME_BYTES) / BYTES_PER_SECOND;
  }
}
