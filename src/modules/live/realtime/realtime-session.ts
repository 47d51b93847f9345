import { randomUUID } from 'node:crypto';
import type { RawData, WebSocket } from 'ws';
import type { Principal } from '../../../access/principal.js';
import { isDatabaseUnavailable } from '../../../platform/database/unavailable.js';
import { ApiError, InternalError, ServiceUnavailableError } from '../../../platform/errors/errors.js';
import {
  type EndReason,
  type LiveAudioType,
  type LiveCut,
  LiveEndedError,
  LiveGapError,
  type LiveRecording,
} from '../live-recordings.service.js';
import { AudioPace } from './audio-pace.js';
import { AudioWriter, MAX_HELD_BYTES } from './audio-writer.js';
import { CLOSE, type CloseCause } from './close-codes.js';
import type { RealtimeProtocol, RecordingSettings, SessionControls } from './realtime-client.js';
import { TranscriptReader, type TranscriptSource } from './transcript-reader.js';

/** Of what was sent and not read. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
const MAX_REFUSALS = 100;
/** Longest wait for the last words after the end. */
const WORDS_MS = 20_000;
/** Longest wait for the other side to close. */
const CLOSE_MS = 2000;
const PING_MS = 15_000;
const BYTES_PER_SAMPLE = 2;

/** What a session needs of the service. */
export interface SessionPorts {
  begin: (settings: RecordingSettings) => Promise<LiveRecording>;
  append: (recordingId: string, byteOffset: number, audio: Buffer) => Promise<number>;
  cut: (recordingId: string, cut: LiveCut) => Promise<void>;
  end: (recordingId: string, reason: EndReason) => Promise<void>;
  transcript: (recordingId: string) => TranscriptSource;
  /** Null once the credentials of the connection are not valid any more. */
  authenticateAgain: () => Promise<Principal | null>;
  /** A recording was begun or taken over by this connection. */
  onRecording: (session: RealtimeSession, recording: LiveRecording) => void;
  onError: (error: unknown, recordingId: string | null) => void;
  silenceMs: number;
}

/** A session as the log tells it. */
interface SessionFigures {
  recordingId: string | null;
  /** Bytes of audio that came over this connection. */
  bytes: number;
  code: number;
}

/** One WebSocket and the recording that it adds to. */
export class RealtimeSession implements SessionControls {
  readonly id = randomUUID();
  readonly closed: Promise<SessionFigures>;
  private recording: LiveRecording | null = null;
  private beginning: Promise<LiveRecording> | null = null;
  private writer: AudioWriter;
  private pace: AudioPace | null = null;
  private transcript: TranscriptReader | null = null;
  private refusals = 0;
  private bytes = 0;
  private lastAudioAt = performance.now();
  private pingedAt = performance.now();
  private isAnswered = true;
  private pacedUntil = 0;
  private pacing: NodeJS.Timeout | undefined;
  private state: 'open' | 'finishing' | 'closing' = 'open';

  constructor(
    private readonly socket: WebSocket,
    private readonly ports: SessionPorts,
    protocolOf: (controls: SessionControls) => RealtimeProtocol,
  ) {
    this.protocol = protocolOf(this);
    this.writer = this.writerFrom(0);
    this.closed = new Promise((resolve) => {
      socket.once('close', (code: number) => {
        void this.clean(code).then(() =>
          resolve({ recordingId: this.recording?.recordingId ?? null, bytes: this.bytes, code }),
        );
      });
    });
    socket.on('message', (data: RawData, isBinary: boolean) => this.receive(data as Buffer, isBinary));
    socket.on('pong', () => (this.isAnswered = true));
    // The close event follows.
    socket.on('error', () => undefined);
  }

  readonly protocol: RealtimeProtocol;

  /** Before the first message. @param recording null: the first audio begins one. */
  open(recording: LiveRecording | null, isResumed: boolean): void {
    if (recording) this.follow(recording);
    this.protocol.opened(recording, isResumed);
  }

  send(message: object): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    this.socket.send(JSON.stringify(message));
    if (this.socket.bufferedAmount > MAX_BUFFERED_BYTES) this.close(CLOSE.slowReader);
  }

  addAudio(audio: Buffer): void {
    if (this.state !== 'open') return;
    this.lastAudioAt = performance.now();
    this.bytes += audio.length;
    this.pace ??= new AudioPace(bytesPerSecond((this.recording ?? this.protocol.settings()).audio), this.lastAudioAt);
    this.pacedUntil = this.lastAudioAt + this.pace.take(audio.length, this.lastAudioAt);
    this.writer.add(audio);
    this.adjustReading();
  }

  cut(cut: Omit<LiveCut, 'byteOffset'>): void {
    if (this.state !== 'open') return;
    this.writer.between(async (byteOffset) => {
      const { recordingId } = await this.begun();
      await this.ports.cut(recordingId, { ...cut, byteOffset });
      this.adjustReading();
    });
    this.adjustReading();
  }

  finish(): void {
    if (this.state !== 'open') return;
    this.state = 'finishing';
    void this.finishRecording().catch((error: unknown) => this.fail(error));
  }

  countRefusal(): void {
    this.refusals += 1;
    if (this.refusals >= MAX_REFUSALS) this.close(CLOSE.misused);
  }

  /** Called about once a second. */
  tick(now: number): void {
    if (this.state !== 'open') return;
    if (this.socket.isPaused) {
      // What has come meanwhile is not known.
      [this.lastAudioAt, this.pingedAt, this.isAnswered] = [now, now, true];
    } else if (now - this.lastAudioAt > this.ports.silenceMs) {
      this.close(CLOSE.silent);
    } else if (now - this.pingedAt > PING_MS) {
      if (!this.isAnswered) {
        this.socket.terminate();
        return;
      }
      this.isAnswered = false;
      this.pingedAt = now;
      this.socket.ping();
    }
  }

  /** Closes when the credentials have ended. What cannot be checked now is checked the next time. */
  async checkCredentials(): Promise<void> {
    const principal = await this.ports.authenticateAgain();
    if (!principal || principal.suspended) this.close(CLOSE.credentials);
  }

  /** What has come is stored before the other side is told to go on elsewhere. */
  async restart(): Promise<void> {
    if (this.state === 'open') {
      this.socket.pause();
      await Promise.race([this.writer.flush(), timeout(CLOSE_MS)]);
      this.socket.resume();
    }
    this.close(CLOSE.restart);
    await this.closed;
  }

  /** Another connection goes on with the recording. */
  replace(): void {
    this.close(CLOSE.replaced);
  }

  close({ code, reason }: CloseCause): void {
    if (this.state === 'closing') return;
    this.state = 'closing';
    // Else the answer of the other side would not be read.
    this.socket.resume();
    this.socket.close(code, reason);
    setTimeout(() => this.socket.terminate(), CLOSE_MS).unref();
  }

  private receive(message: Buffer, isBinary: boolean): void {
    this.isAnswered = true;
    if (this.state === 'closing') return;
    try {
      this.protocol.receive(message, isBinary);
    } catch (error) {
      this.fail(error);
    }
  }

  private follow(recording: LiveRecording): void {
    const { recordingId, storedBytes } = recording;
    this.recording = recording;
    if (storedBytes > 0) this.writer = this.writerFrom(storedBytes);
    this.transcript = new TranscriptReader(this.ports.transcript(recordingId), this.protocol);
    void this.transcript.finished.then(() => this.protocol.wordsEnded());
    this.ports.onRecording(this, recording);
  }

  private writerFrom(position: number): AudioWriter {
    return new AudioWriter(
      position,
      async (byteOffset, audio) => {
        const { recordingId } = await this.begun();
        return await this.ports.append(recordingId, byteOffset, audio);
      },
      {
        onStored: (bytes) => {
          const { audio } = this.recording ?? this.protocol.settings();
          const rate = bytesPerSecond(audio);
          this.protocol.stored({ bytes, seconds: rate === null ? null : bytes / rate });
          this.adjustReading();
        },
        onError: (error) => this.fail(error),
      },
    );
  }

  /** The recording, which begins with the first audio. One that could not begin is tried again with the next call. */
  private async begun(): Promise<LiveRecording> {
    if (this.recording) return this.recording;
    this.beginning ??= this.begin().finally(() => (this.beginning = null));
    return await this.beginning;
  }

  private async begin(): Promise<LiveRecording> {
    const recording = await this.ports.begin(this.protocol.settings());
    this.follow(recording);
    this.protocol.began(recording);
    return recording;
  }

  /** Stops reading while too much is not stored, and while the client is far ahead of real time. */
  private adjustReading(): void {
    if (this.state !== 'open') return;
    const now = performance.now();
    const wait = this.pacedUntil - now;
    if (wait > 0 || this.writer.held > MAX_HELD_BYTES) {
      this.socket.pause();
      if (wait > 0) this.pacing ??= setTimeout(() => this.endPacing(), Math.max(wait, MIN_PAUSE_MS)).unref();
    } else if (this.writer.held <= MAX_HELD_BYTES / 2) {
      this.socket.resume();
    }
  }

  private endPacing(): void {
    this.pacing = undefined;
    this.adjustReading();
  }

  private async finishRecording(): Promise<void> {
    await this.writer.flush();
    const { recording, transcript } = this;
    if (recording) {
      await this.ports.end(recording.recordingId, 'finished');
      await Promise.race([transcript?.finished, timeout(WORDS_MS), this.closed]);
      await transcript?.readFinals();
    }
    this.protocol.ended(recording, 'finished');
    this.close(CLOSE.finished);
  }

  private fail(error: unknown): void {
    if (this.state === 'closing') return;
    const { recording } = this;
    if (error instanceof LiveEndedError) {
      this.protocol.ended(recording, error.reason);
      this.close(causeOf(error.reason));
    } else if (error instanceof ApiError && error.status < 500) {
      this.protocol.failed(error);
      this.close(CLOSE.refused);
    } else if (error instanceof LiveGapError) {
      // Another connection has added to the recording.
      this.close(CLOSE.replaced);
    } else {
      this.ports.onError(error, recording?.recordingId ?? null);
      const isAway = isUnavailable(error);
      this.protocol.failed(isAway ? new ServiceUnavailableError() : new InternalError(this.id));
      this.close(isAway ? CLOSE.unavailable : CLOSE.failed);
    }
  }

  /** A client that closes by itself has finished. One that has vanished may come back. */
  private async clean(code: number): Promise<void> {
    const hasFinished = this.state === 'open' && CLOSED_BY_CLIENT.has(code);
    clearTimeout(this.pacing);
    try {
      await this.writer.flush();
      if (hasFinished && this.recording) await this.ports.end(this.recording.recordingId, 'finished');
    } catch (error) {
      this.ports.onError(error, this.recording?.recordingId ?? null);
    }
    this.state = 'closing';
    this.writer.stop();
    this.transcript?.close();
  }
}

/** Codes of a client that closes on purpose: with 1000, or without a code. */
const CLOSED_BY_CLIENT = new Set([1000, 1005]);
const MIN_PAUSE_MS = 20;

/** Null for a container, whose bytes do not tell its length. */
const bytesPerSecond = ({ sampleRate }: LiveAudioType): number | null =>
  sampleRate === null ? null : sampleRate * BYTES_PER_SAMPLE;

const causeOf = (reason: LiveEndedError['reason']): CloseCause =>
  reason === 'quota' ? CLOSE.quota : reason === 'too_long' ? CLOSE.tooLong : CLOSE.gone;

const isUnavailable = (error: unknown): boolean =>
  isDatabaseUnavailable(error) || error instanceof ServiceUnavailableError;

const timeout = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());
