import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Counter, Registry } from 'prom-client';
import type { Principal } from '../../access/principal.js';
import { Env } from '../../platform/config/env.js';
import { DatabaseService, type Tx } from '../../platform/database/database.service.js';
import { isResourceId } from '../../platform/database/find-or-fail.js';
import { lockByName } from '../../platform/database/locks.js';
import {
  AccountSuspendedError,
  ConcurrentLiveRecordingsError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  QuotaExceededError,
} from '../../platform/errors/errors.js';
import { EventBus } from '../../platform/database/event-bus.js';
import { RecordingDeleted } from '../recordings/recordings.events.js';
import { type AudioAmount, GrowingUploadsService } from '../recordings/upload/growing-uploads.service.js';
import type { EndReason, LiveAudioFormat } from './live-recording.entity.js';
import { LiveSignalsService } from './live-signals.service.js';
import { insertCut, type LiveCut, selectCut } from './live-cuts.queries.js';
import {
  appendPart,
  countLive,
  endLive,
  findLive,
  insertLive,
  type LiveRow,
  lockLive,
  readParts,
  updateReserved,
} from './live-recordings.queries.js';

export type { LiveCut } from './live-cuts.queries.js';
export type { EndReason } from './live-recording.entity.js';

export interface LiveAudioType {
  format: LiveAudioFormat;
  /** Hz; null but for `pcm16`. */
  sampleRate: number | null;
}

export interface LiveRecording {
  recordingId: string;
  accountId: string;
  audio: LiveAudioType;
  storedBytes: number;
  /** Whether pauses end utterances now. */
  cutsAtPauses: boolean;
  endedAt: Date | null;
  endReason: EndReason | null;
}

interface ReadAudio {
  audio: Buffer;
  storedBytes: number;
  /** Null while there is none. */
  nextCut: number | null;
  ended: boolean;
}

/** What a live recording begins with. What is not validated is, by the rules of an upload. */
export interface NewLiveRecording {
  audio: LiveAudioType;
  language: string | null;
  languages?: readonly string[] | null;
  vocabulary?: readonly string[] | null;
  title?: string | null;
  /** JSON text, as a form has it. */
  customTags?: string | null;
  /** As a form has them. */
  speakers?: string | null;
  diarize?: string | null;
  /** Whether pauses end utterances; by default they do. */
  cutsAtPauses?: boolean;
  filename?: string | null;
  clientIp: string | null;
  userAgent: string | null;
  /** By default another program; that of an access token is its own. */
  source?: 'api' | 'console';
}

/** The recording takes no more audio: it has ended, or was deleted. */
export class LiveEndedError extends Error {
  override readonly name = 'LiveEndedError';

  constructor(readonly reason: EndReason | 'deleted') {
    super(`the live recording has ended: ${reason}`);
  }
}

/** Audio is missing between what is stored and what was sent. */
export class LiveGapError extends Error {
  override readonly name = 'LiveGapError';

  constructor(
    /** Where the next part must begin. */
    readonly storedBytes: number,
  ) {
    super(`the next part must begin at byte ${storedBytes}`);
  }
}

export const LIVE_SAMPLE_RATES = [8000, 16_000, 24_000, 44_100, 48_000] as const;
/** Of one recording: a third of what a WAV header can say, and two hours of PCM at 48 kHz. */
const MAX_BYTES = 2 ** 30;
/** What is reserved ahead, so that few parts wait for the quotas. */
const BLOCK_MS = 60_000;
/** The same of audio whose length its bytes do not tell. */
const BLOCK_BYTES = 2 ** 20;

/** Of the file that is made of it. */
export const FILE_FORMATS = { pcm16: 'wav', webm: 'webm', ogg: 'ogg', mp4: 'm4a' } as const;

/** No engine works for a test account (D81). */
const NO_TEST_WORDS = 'A test key has no words while one speaks.';

/** Recordings that are stored part by part while they are recorded (D91). Every second that was acknowledged is in the file. */
@Injectable()
export class LiveRecordingsService implements OnModuleInit {
  private readonly ends: Counter<'reason'>;

  constructor(
    private readonly database: DatabaseService,
    private readonly uploads: GrowingUploadsService,
    private readonly signals: LiveSignalsService,
    private readonly bus: EventBus,
    private readonly env: Env,
    registry: Registry,
  ) {
    this.ends = new Counter({
      name: 'live_recordings_ended_total',
      help: 'Live recordings that have ended, by the reason (D91).',
      labelNames: ['reason'],
      registers: [registry],
    });
  }

  onModuleInit(): void {
    // One whose file is not there yet may be live: its row has gone with the recording.
    this.bus.on(RecordingDeleted, async ({ recording: { id, status, durationMs } }, tx) => {
      if (status !== 'processing' || durationMs > 0) return;
      tx.afterCommit(() => this.signals.publishAudio(id, 'end'));
    });
  }

  /**
   * @throws InvalidRequestError, ServiceUnavailableError, ConcurrentLiveRecordingsError, QuotaExceededError,
   *   AccountSuspendedError; then nothing is kept.
   */
  async begin(principal: Principal, begun: NewLiveRecording): Promise<LiveRecording> {
    const { audio, cutsAtPauses = true } = begun;
    checkAudio(audio);
    const audioFormat = FILE_FORMATS[audio.format];
    const file = { filename: begun.filename ?? `live.${audioFormat}`, audioFormat };
    const source = principal.credential === 'access_token' ? 'access_token' : (begun.source ?? 'api');
    const { clientIp, userAgent } = begun;
    const recording = await this.uploads.describe(principal, file, detailsOf(begun), { clientIp, userAgent, source });
    const { id: recordingId, accountId } = recording;
    try {
      await this.database.transact(async (tx) => {
        await this.limit(tx, principal);
        const wants = this.withinLongest(blockAfter({ bytes: 0, durationMs: 0 }, audio.sampleRate));
        const reserved = await this.uploads.begin(tx, recording, wants, principal.quotas);
        await insertLive(tx, {
          recordingId,
          accountId,
          audioFormat: audio.format,
          sampleRate: audio.sampleRate,
          reservedKey: reserved.objectKey,
          reservedBytes: reserved.bytes,
          reservedMs: reserved.durationMs,
          wordsProblem: principal.isTest ? NO_TEST_WORDS : null,
        });
        if (!cutsAtPauses) await insertCut(tx, recordingId, { byteOffset: 0, isCommit: false, atPauses: false });
      });
    } catch (error) {
      if (isAccountGone(error)) throw new AccountSuspendedError();
      throw error;
    }
    return { recordingId, accountId, audio, storedBytes: 0, cutsAtPauses, endedAt: null, endReason: null };
  }

  /**
   * Stores a part; when it resolves, the part is durable. What is stored already of it is not stored again.
   * @param byteOffset where the part begins in the audio
   * @returns the bytes that are stored. @throws LiveEndedError, LiveGapError
   */
  async append(recordingId: string, byteOffset: number, audio: Buffer): Promise<number> {
    let [offset, part] = [byteOffset, audio];
    for (;;) {
      const stored = part.length > 0 ? await appendPart(this.database, recordingId, offset, part) : null;
      if (stored !== null) {
        this.signals.publishAudio(recordingId, stored);
        return stored;
      }
      const before = await this.makeRoom(recordingId, byteOffset, audio);
      const missing = audio.subarray(before - byteOffset);
      if (missing.length === 0) return before;
      [offset, part] = [before, missing];
    }
  }

  /** @param userId of an access token: only what it has begun. @throws NotFoundError, ConflictError when it has ended */
  async resume(accountId: string, recordingId: string, userId: string | null = null): Promise<LiveRecording> {
    if (!isResourceId(recordingId)) throw new NotFoundError('recording');
    const row = await findLive(this.database, accountId, recordingId);
    if (row && userId !== null && row.userId !== userId) throw new NotFoundError('recording');
    if (row && row.endedAt === null) return toLiveRecording(row, row.atPauses ?? true);
    if (!row && userId !== null) throw new NotFoundError('recording');
    if (!row && !(await this.uploads.exists({ accountId, id: recordingId }))) throw new NotFoundError('recording');
    throw new ConflictError('This recording has ended, so nothing can be added. Begin another one.');
  }

  /** Nothing can be added any more; the file is made. Without effect on one that has ended. */
  async end(recordingId: string, reason: EndReason): Promise<void> {
    if (await endLive(this.database, recordingId, reason)) this.announceEnd(recordingId, reason);
  }

  /** Counts an end that is written, and tells readers and deliverers of it. */
  announceEnd(recordingId: string, reason: EndReason): void {
    this.ends.inc({ reason });
    this.signals.publishAudio(recordingId, 'end');
    this.signals.publishEnd();
  }

  /** Ends an utterance where the audio is that is stored; what is stored later is behind it (D93). */
  async cut(recordingId: string, cut: LiveCut): Promise<void> {
    await insertCut(this.database, recordingId, cut);
    this.signals.publishAudio(recordingId, cut.byteOffset);
  }

  /** The last cut up to a byte; null without any. */
  async lastCut(recordingId: string, upToByte: number): Promise<LiveCut | null> {
    return await selectCut(this.database, recordingId, upToByte);
  }

  /**
   * @param cutBehind the first cut behind this byte is told
   * @returns at most `maxBytes` from `fromByte` on. One whose audio is not kept here any more has ended, without bytes.
   */
  async read(recordingId: string, fromByte: number, maxBytes: number, cutBehind = 0): Promise<ReadAudio> {
    const parts = await readParts(this.database, recordingId, fromByte, maxBytes, cutBehind);
    const [first] = parts;
    if (!first) return { audio: Buffer.alloc(0), storedBytes: 0, nextCut: null, ended: true };
    const bytes = Buffer.concat(parts.flatMap(({ audio }) => audio ?? []));
    const start = fromByte - (first.byteOffset ?? fromByte);
    const { storedBytes, nextCut, ended } = first;
    return { audio: bytes.subarray(start, start + maxBytes), storedBytes, nextCut, ended };
  }

  /** @throws ConcurrentLiveRecordingsError */
  private async limit(tx: Tx, { accountId, quotas }: Principal): Promise<void> {
    const limit = quotas.concurrentUploads;
    if (limit === null) return;
    await lockByName(tx, `live recordings:${accountId}`);
    const used = await countLive(tx, accountId);
    if (used >= limit) throw new ConcurrentLiveRecordingsError(limit, used);
  }

  /**
   * Finds out why a part was not stored, and reserves more where that is the reason.
   * @returns the bytes that are stored. @throws as `append`
   */
  private async makeRoom(recordingId: string, byteOffset: number, audio: Buffer): Promise<number> {
    const end = byteOffset + audio.length;
    try {
      return await this.database.transact(async (tx) => {
        const row = await lockLive(tx, recordingId);
        if (!row) throw new LiveEndedError('deleted');
        const { storedBytes } = row;
        if (end <= storedBytes) return storedBytes;
        if (row.endReason) throw new LiveEndedError(row.endReason);
        if (byteOffset > storedBytes) throw new LiveGapError(storedBytes);
        await this.reserveMore(tx, row, end);
        return storedBytes;
      });
    } catch (error) {
      const reason = error instanceof QuotaExceededError ? 'quota' : error instanceof TooLongError ? 'too_long' : null;
      if (!reason) throw error;
      await this.end(recordingId, reason);
      throw new LiveEndedError(reason);
    }
  }

  private async reserveMore(tx: Tx, row: LiveRow, bytes: number): Promise<void> {
    const { recordingId, accountId, reservedKey: objectKey, sampleRate, storedMs } = row;
    const reserved = { objectKey, accountId, bytes: row.reservedBytes, durationMs: row.reservedMs };
    const durationMs = sampleRate === null ? storedMs + MAX_STEP_MS : pcmMs(bytes, sampleRate);
    const needs = { bytes: Math.max(bytes, reserved.bytes), durationMs: Math.max(durationMs, reserved.durationMs) };
    if (needs.bytes === reserved.bytes && needs.durationMs === reserved.durationMs) return;
    const longest = this.withinLongest(needs);
    if (longest.bytes < bytes || longest.durationMs < durationMs) throw new TooLongError();
    const wants = this.withinLongest(blockAfter(needs, sampleRate));
    const grown = await this.uploads.grow(tx, reserved, { needs, wants });
    await updateReserved(tx, { recordingId, reservedBytes: grown.bytes, reservedMs: grown.durationMs });
  }

  /** What a recording may have at most, by its length and by its size. */
  private withinLongest({ bytes, durationMs }: AudioAmount): AudioAmount {
    return {
      bytes: Math.min(bytes, MAX_BYTES),
      durationMs: Math.min(durationMs, this.env.maxAudioSeconds * 1000),
    };
  }
}

/** The recording may not become longer, or larger. */
class TooLongError extends Error {}

/** Of PCM the parts are as long as their bytes say; of other audio the time between two counts, at most this. */
const MAX_STEP_MS = 10_000;

const BYTES_PER_SAMPLE = 2;

/** The length of raw PCM, rounded up. */
const pcmMs = (bytes: number, sampleRate: number): number => Math.ceil((bytes / BYTES_PER_SAMPLE / sampleRate) * 1000);

function blockAfter({ bytes, durationMs }: AudioAmount, sampleRate: number | null): AudioAmount {
  const blockBytes = sampleRate === null ? BLOCK_BYTES : sampleRate * BYTES_PER_SAMPLE * (BLOCK_MS / 1000);
  return { bytes: bytes + blockBytes, durationMs: durationMs + BLOCK_MS };
}

function checkAudio({ format, sampleRate }: LiveAudioType): void {
  const isRate = (LIVE_SAMPLE_RATES as readonly (number | null)[]).includes(sampleRate);
  if (format !== 'pcm16' || isRate) return;
  throw new InvalidRequestError({ field: 'sample_rate', reason: `must be one of ${LIVE_SAMPLE_RATES.join(', ')}` });
}

/** As the fields of an upload. */
function detailsOf(begun: NewLiveRecording) {
  const { language, languages, vocabulary, title, customTags, speakers, diarize } = begun;
  return {
    ...(language && { language }),
    ...(languages && { languages: JSON.stringify(languages) }),
    ...(vocabulary && { vocabulary: JSON.stringify(vocabulary) }),
    ...(title && { title }),
    ...(customTags && { custom_tags: customTags }),
    ...(speakers && { speakers }),
    ...(diarize && { diarize }),
  };
}

const toLiveRecording = (row: LiveRow, cutsAtPauses: boolean): LiveRecording => ({
  recordingId: row.recordingId,
  accountId: row.accountId,
  audio: { format: row.audioFormat, sampleRate: row.sampleRate },
  storedBytes: row.storedBytes,
  cutsAtPauses,
  endedAt: row.endedAt,
  endReason: row.endReason,
});

/** The operator has removed the account since the request began. */
const isAccountGone = (error: unknown): boolean =>
  (error as { constraint?: unknown } | null)?.constraint === 'recordings_account_fkey';
