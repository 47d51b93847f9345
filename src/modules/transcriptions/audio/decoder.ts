import type { ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Readable, Writable } from 'node:stream';
import {
  AUDIO_FORMATS,
  type AudioContainer,
  type AudioFormat,
  beginsMp4,
  MAX_CHANNELS,
  MP4_CONTAINER,
  MP4_MAGIC_BYTES,
  SAMPLE_RATES_HZ,
  SKIPPED_DECODERS,
} from '../../../platform/audio-formats.js';
import type { SandboxMode } from '../../../platform/config/env.js';
import { cpuSecondsOf } from '../../../platform/processes/resources.js';
import {
  endOf,
  failedToStart,
  forgetIsolation,
  isolationFor,
  keepStderrTail,
  SandboxUnavailableError,
  spawnSandboxed,
} from '../../../platform/processes/sandbox.js';
import { findProgram, killAll, type Limits } from '../../../platform/processes/wrappers.js';
import { errorCode } from '../../../platform/storage/file-system.js';
import { AudioRejectedError, EngineError } from '../engines/transcription-engine.js';
import { SAMPLES_PER_SECOND } from './pcm.js';

/** An uploaded file and the values in its header; null when the header has none. */
export interface AudioSource {
  file: string;
  format: AudioFormat;
  sampleRate: number | null;
  channels: number | null;
}

/** Audio that is still being recorded. `pcm16`: samples of 16 bits, little-endian, one channel. */
export interface AudioStream {
  bytes: AsyncIterable<Buffer>;
  format: AudioFormat | 'pcm16';
  /** Of PCM. */
  sampleRate: number | null;
}

export interface DecodeOptions {
  /** Decoding stops after this length. */
  maxSeconds: number;
  /** Only this one of two channels, 0 or 1; by default they are mixed. */
  channel?: number | null;
  signal: AbortSignal;
  sandbox?: SandboxMode;
}

/** Typical: 40 MB. */
const MEMORY_BYTES = 128 << 20;
/** Typical: 4, one of them the audio. */
const OPEN_FILES = 32;
/** For one allocation. A 25 MB ID3 tag is read in one. */
const ALLOCATION_BYTES = 64 << 20;
/** ffmpeg decodes at least 500 seconds of audio per CPU second; 100 allows for slow machines. */
const CPU_SECONDS = { base: 30, audioPerSecond: 100 };
/** A process that ended this close to its CPU limit was ended by it, not by lack of memory or a shutdown. */
const NEAR_LIMIT_SECONDS = 2;
/** ffmpeg's exit code for "ended by a signal", which is how the CPU limit ends it. */
const EXIT_SIGNALLED = 255;

const NO_FFMPEG =
  'ffmpeg is not installed (Debian/Ubuntu: apt-get install ffmpeg; Fedora: dnf install ffmpeg-free; macOS: brew install ffmpeg)';
const NOT_STARTED = 'ffmpeg could not be started';

/** Null when audio can be decoded; otherwise what to install or to permit. */
export async function decoderProblem(mode: SandboxMode = 'auto'): Promise<string | null> {
  const ffmpeg = findProgram('ffmpeg');
  if (!ffmpeg) return NO_FFMPEG;
  try {
    await isolationFor(
      { program: ffmpeg, args: [] },
      { mode, limits: limitsFor(0), calls: 'allow-list', reads: [ffmpeg] },
    );
    return null;
  } catch (error) {
    if (error instanceof SandboxUnavailableError) return error.message;
    throw error;
  }
}

/**
 * Decodes the first audio track to 16 kHz mono, in a child process with resource limits. It decodes no faster than its
 * output is read. A truncated file is decoded up to its end.
 * @throws AudioRejectedError when nothing can be decoded, or not in reasonable time; EngineError when ffmpeg is missing,
 *   crashes or hangs.
 */
export async function* decode(source: AudioSource, options: DecodeOptions): AsyncGenerator<Buffer> {
  refuseImplausible(source);
  options.signal.throwIfAborted();
  const file = path.resolve(source.file);
  const container = await containerOf(source.format, file).catch((error: unknown) => {
    throw new EngineError('The audio file cannot be read', false, { cause: error });
  });
  const child = await start({ file, container, reads: file }, options);
  yield* read(child, { format: source.format, container }, options);
}

/**
 * Decodes audio while it is recorded, as `decode` does a file: what comes is decoded at once. Ends with the bytes.
 * @throws what `decode` throws, and what the bytes throw.
 */
export async function* decodeStream(
  { bytes, format, sampleRate }: AudioStream,
  options: DecodeOptions,
): AsyncGenerator<Buffer> {
  if (format === 'pcm16' && sampleRate === SAMPLES_PER_SECOND) {
    yield* bytes;
    return;
  }
  const container = format === 'pcm16' ? pcmContainer(sampleRate ?? SAMPLES_PER_SECOND) : AUDIO_FORMATS[format];
  const child = await start({ file: 'pipe:0', container, reads: null }, options);
  const failure = new AbortController();
  // Its end is reported instead.
  child.stdin?.on('error', () => undefined);
  const writing = pipeline(bytes, child.stdin as Writable).catch((error: unknown) => {
    if (child.exitCode !== null || child.signalCode !== null || isBrokenPipe(error)) return;
    failure.abort(error);
    killAll(child);
  });
  const signal = AbortSignal.any([options.signal, failure.signal]);
  try {
    yield* read(child, { format: format === 'pcm16' ? 'wav' : format, container }, { ...options, signal }, Infinity);
  } finally {
    child.stdin?.destroy();
    await writing;
  }
}

const pcmContainer = (sampleRate: number): AudioContainer => ({
  demuxer: 's16le',
  decoders: ['pcm_s16le'],
  options: ['-ar', `${sampleRate}`, '-ac', '1'],
});

const isBrokenPipe = (error: unknown): boolean =>
  ['EPIPE', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'].includes(errorCode(error) ?? '');

/** @param stallMs without output after which the decoder hangs. */
async function* read(
  child: Decoder,
  { format, container }: { format: AudioFormat; container: AudioContainer },
  { maxSeconds, signal }: DecodeOptions,
  stallMs = STALL_MS,
): AsyncGenerator<Buffer> {
  const kill = (): void => killAll(child);
  const ended = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  ended.catch(() => undefined);
  const stderr = keepStderrTail(child.stderr);
  const watch = new ProgressWatch(child.pid ?? 0, kill, stallMs);
  signal.addEventListener('abort', kill);
  let decoded = false;
  try {
    if (signal.aborted) kill();
    for await (const pcm of child.stdout) {
      watch.pause();
      if (!decoded) refuseForeignCodec(format, container, stderr());
      decoded = true;
      yield pcm as Buffer;
      watch.resume();
    }
    const [code, killedBy] = await ended;
    signal.throwIfAborted();
    if (watch.stopReason === 'hung') throw new EngineError('ffmpeg hung', true, { cause: stderr() });
    if (watch.stopReason === 'no output' || watch.cpuSeconds > cpuLimit(maxSeconds) - NEAR_LIMIT_SECONDS) {
      throw new AudioRejectedError('The file takes too long to decode.', { cause: stderr() });
    }
    refuseForeignCodec(format, container, stderr());
    checkExit(endOf(code, killedBy), decoded, stderr());
  } finally {
    watch.stop();
    signal.removeEventListener('abort', kill);
    kill();
    await ended.catch(() => undefined);
  }
}

function refuseImplausible({ sampleRate, channels }: AudioSource): void {
  if (sampleRate !== null && (sampleRate < SAMPLE_RATES_HZ.min || sampleRate > SAMPLE_RATES_HZ.max)) {
    throw new AudioRejectedError(`The sample rate of ${sampleRate} Hz is outside 4–192 kHz.`);
  }
  if (channels !== null && (channels < 1 || channels > MAX_CHANNELS)) {
    throw new AudioRejectedError(`The file has ${channels} channels; 1 to ${MAX_CHANNELS} can be decoded.`);
  }
}

type Decoder = ChildProcessByStdio<Writable | null, Readable, Readable>;

/** What ffmpeg is given; `reads` null: its standard input. */
interface DecoderInput {
  file: string;
  container: AudioContainer;
  reads: string | null;
}

async function start({ file, container, reads }: DecoderInput, options: DecodeOptions): Promise<Decoder> {
  const { maxSeconds, sandbox = 'auto' } = options;
  const ffmpeg = findProgram('ffmpeg');
  if (!ffmpeg) throw new EngineError(NO_FFMPEG, false);
  const input = reads === null ? file : `file:${file}`;
  const command = { program: ffmpeg, args: ffmpegArguments(input, container, options) };
  const limits = limitsFor(maxSeconds);
  const boundaries = { mode: sandbox, limits, calls: 'allow-list', reads: [reads ?? ffmpeg] } as const;
  const streams = [reads === null ? 'pipe' : 'ignore', 'pipe', 'pipe'] as const;
  const child = await spawnSandboxed(command, boundaries, streams).catch((error: unknown) => {
    const message = error instanceof SandboxUnavailableError ? error.message : NOT_STARTED;
    throw new EngineError(message, false, { cause: error });
  });
  return child as Decoder;
}

const limitsFor = (maxSeconds: number): Limits => ({
  dataBytes: MEMORY_BYTES,
  openFiles: OPEN_FILES,
  cpuSeconds: cpuLimit(maxSeconds),
});

function ffmpegArguments(
  from: string,
  container: AudioContainer,
  { maxSeconds, channel = null }: DecodeOptions,
): string[] {
  const limits = ['-threads', '1', '-max_alloc', `${ALLOCATION_BYTES}`, '-timelimit', `${cpuLimit(maxSeconds)}`];
  // The demuxer is always named: when ffmpeg detects the format, a playlist named .mp3 opens other files.
  const { demuxer, decoders, options = [], filter } = container;
  // ffmpeg opens decoders already to find out what the streams are, also those of streams that are not mapped.
  const allowed = [
    '-protocol_whitelist',
    'file,pipe',
    '-format_whitelist',
    demuxer,
    '-codec_whitelist',
    decoders.join(),
  ];
  const input = [...allowed, '-f', demuxer, ...options, '-i', from];
  const track = ['-map', '0:a:0', '-vn', '-sn', '-dn', '-t', `${maxSeconds}`];
  const picked = channel === null ? null : `aformat=channel_layouts=stereo,pan=mono|c0=c${channel}`;
  const filters = [filter, picked].filter(Boolean).join();
  const output = [
    ...(filters === '' ? [] : ['-af', filters]),
    '-ac',
    '1',
    '-ar',
    `${SAMPLES_PER_SECOND}`,
    '-c:a',
    'pcm_s16le',
    '-f',
    's16le',
    '-flush_packets',
    '1',
    'pipe:1',
  ];
  return ['-hide_banner', '-v', 'error', '-nostdin', ...limits, ...input, ...track, ...output];
}

/** @throws AudioRejectedError when ffmpeg reports a stream that does not belong into a file of this format. */
function refuseForeignCodec(format: AudioFormat, { skipped = [] }: AudioContainer, stderr: string): void {
  const refused = stderr.matchAll(/Codec \(([\w.-]{1,40})\) not on whitelist/g);
  const foreign = [...refused]
    .map(([, codec = '']) => codec)
    .find((codec) => !SKIPPED_DECODERS.has(codec) && !skipped.includes(codec));
  if (foreign) throw new AudioRejectedError(`The file contains ${foreign}, which is not a codec of ${format} files.`);
}

const cpuLimit = (maxSeconds: number): number => Math.ceil(CPU_SECONDS.base + maxSeconds / CPU_SECONDS.audioPerSecond);

/** Throws what the exit of ffmpeg means. A failure after some output is a truncated file, whose output is used. */
function checkExit(outcome: number | string | null, decoded: boolean, stderr: string): void {
  if (typeof outcome === 'string') throw new EngineError(`ffmpeg was ended by ${outcome}`, true, { cause: stderr });
  if (outcome === EXIT_SIGNALLED) throw new EngineError('ffmpeg reached a resource limit', true, { cause: stderr });
  if (!decoded && failedToStart(stderr)) {
    // The machine may permit less than when it was probed.
    forgetIsolation();
    throw new EngineError(NOT_STARTED, false, { cause: stderr });
  }
  if (!decoded) throw new AudioRejectedError('The file contains no audio that can be decoded.', { cause: stderr });
}

/** The container of a file, which AMR has two of. @throws errors of the file system */
async function containerOf(format: AudioFormat, file: string): Promise<AudioContainer> {
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MP4_MAGIC_BYTES), 0, MP4_MAGIC_BYTES, 0);
    const isMp4 = beginsMp4(buffer.toString('latin1', 0, bytesRead));
    const own = AUDIO_FORMATS[format];
    return format === 'amr' && isMp4 ? { ...own, ...MP4_CONTAINER } : own;
  } finally {
    await handle.close();
  }
}

/** A local file is read without delay: a decoder without output for this long hangs. */
const STALL_MS = 60_000;
/**
 * CPU seconds without output. Some files keep the decoder busy with something else: a million tags are each compared with
 * all before them. Typical: 0.1.
 */
const IDLE_CPU_SECONDS = 5;
const CHECK_INTERVAL_MS = 500;

/** `no output`: CPU time without output. `hung`: time without output. */
type StopReason = 'no output' | 'hung';

/** Stops a decoder that produces no output. The time in which its reader is busy does not count. */
export class ProgressWatch {
  /** Why the decoder was stopped; null if it was not. */
  stopReason: StopReason | null = null;
  /** CPU time of the process and its descendants at the last check, since bubblewrap waits for the decoder; 0 without /proc. */
  cpuSeconds = 0;
  private readonly timer = setInterval(() => this.check(), CHECK_INTERVAL_MS);
  private isPaused = false;
  private isRestarted = true;
  private cpuBefore = 0;
  private since = Date.now();

  constructor(
    private readonly pid: number,
    private readonly stopDecoder: () => void,
    private readonly stallMs = STALL_MS,
  ) {}

  /** Output has arrived and is being processed. */
  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.isRestarted = true;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private check(): void {
    this.cpuSeconds = cpuSecondsOf(this.pid) ?? this.cpuSeconds;
    if (this.isPaused || this.isRestarted) {
      this.isRestarted = false;
      this.cpuBefore = this.cpuSeconds;
      this.since = Date.now();
    } else if (this.cpuSeconds - this.cpuBefore > IDLE_CPU_SECONDS) this.stopBecause('no output');
    else if (Date.now() - this.since > this.stallMs) this.stopBecause('hung');
  }

  private stopBecause(reason: StopReason): void {
    this.stopReason = reason;
    this.stop();
    this.stopDecoder();
  }
}
