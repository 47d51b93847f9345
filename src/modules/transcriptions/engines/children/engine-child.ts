import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, existsSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { SandboxMode } from '../../../../platform/config/env.js';
import {
  endOf,
  failedToStart,
  forgetIsolation,
  keepStderrTail,
  spawnSandboxed,
} from '../../../../platform/processes/sandbox.js';
import { killAll, type Limits } from '../../../../platform/processes/wrappers.js';
import { type ChunkTranscript, EngineError, EngineUnavailableError } from '../transcription-engine.js';
import {
  type ChildAnswer,
  type ChildMessage,
  type ChunkOptions,
  HEADER_BYTES,
  LENGTH_BYTES,
  MESSAGE_DESCRIPTOR,
  receiveMessages,
} from './child-messages.js';

/** A built module that calls `serveChunks` or `serveRequests`, and everything that it imports and reads. */
export interface ChildModule {
  file: string;
  args?: readonly string[];
  /** Absolute paths of files and folders. Not needed: Node itself, the libraries of the system. */
  reads: readonly [string, ...string[]];
  /** Private memory that it may take, beside {@link BASE_BYTES}. */
  modelBytes?: number;
  /** Time until it is ready, in milliseconds. */
  loadLimitMs?: number;
  /** Longest message that it may send; default: 256 KiB. */
  maxLineBytes?: number;
  /** What an operator is told about a process that ended before it was ready, given how it ended and what it said. */
  explain?: (end: string, said: string) => string;
}

/**
 * Measured with PocketSphinx loaded and after minutes of audio: 205 MB of private memory (140 MB resident) and 21 open
 * files. The V8 of Node 24 reserves more and needs over 512 MiB at its start.
 */
const BASE_BYTES = 2 ** 30;
/** CPU time is not limited, since a child lives as long as the service; the time for each chunk is. */
const OPEN_FILES = 64;
const LOAD_LIMIT_MS = 60_000;
/** What a process said before its end is read within this time, unless a process that it started holds the pipe open. */
const LAST_OUTPUT_MS = 500;
const MAX_ERROR_LENGTH = 300;
const STREAMS = ['pipe', 'ignore', 'pipe', 'pipe'] as const;

/** Decoded audio: all of it, or a file of so many bytes that is sent as it is read. */
type ChildAudio = Uint8Array | { file: string; bytes: number };
/** Of such a file, read at once. */
const FILE_PART_BYTES = 1 << 20;

/**
 * A process that answers one request at a time, such as transcribing a chunk. Crashes and hangs of the native library stay inside it. It ends with
 * this process, and does not keep it alive while idle.
 */
export class EngineChild {
  /** Rejects with an EngineError that says why this machine cannot run the engine. */
  readonly ready: Promise<void>;
  private readonly started: Promise<void>;
  private child: ChildProcess | null = null;
  private exited: Promise<unknown> = Promise.resolve();
  private readonly state = { ready: false, busy: false, alive: true, closing: false };
  private stderrTail: () => string = () => '';
  private pending: { resolve: (message: ChildMessage) => void; reject: (error: EngineError) => void } | null = null;

  constructor(
    private readonly module: ChildModule,
    mode: SandboxMode,
  ) {
    const { file, args = [], reads, modelBytes = 0, loadLimitMs = LOAD_LIMIT_MS } = module;
    // Without the flags of this process, such as a debugger port or a test loader.
    const command = { program: process.execPath, args: [file, ...args] };
    const limits: Limits = { dataBytes: BASE_BYTES + Math.ceil(modelBytes), openFiles: OPEN_FILES };
    this.started = spawnSandboxed(command, { mode, limits, calls: 'deny-list', reads }, STREAMS).then((child) =>
      this.watch(child),
    );
    this.ready = this.load(loadLimitMs);
    this.ready.catch(() => undefined);
  }

  get isIdle(): boolean {
    return this.state.alive && !this.state.busy;
  }

  get isReady(): boolean {
    return this.state.alive && this.state.ready;
  }

  get isAlive(): boolean {
    return this.state.alive;
  }

  /** @throws as `ask` */
  async transcribe(pcm: Uint8Array, options: ChunkOptions, limitMs: number): Promise<ChunkTranscript> {
    const answer = await this.ask(pcm, options, limitMs);
    return 'transcript' in answer ? answer.transcript : this.refuse();
  }

  /** @throws EngineError when the child crashes, breaks the rules, or takes longer than `limitMs` and is killed. */
  async ask(audio: ChildAudio, options: object, limitMs: number): Promise<ChildAnswer> {
    this.state.busy = true;
    try {
      await this.ready;
      if (!this.state.alive) throw new EngineError('The engine process ended before it was asked', false);
      const message = await this.nextMessage(limitMs, () => this.send(audio, options));
      return 'transcript' in message || 'speakers' in message ? message : this.refuse();
    } finally {
      this.state.busy = false;
    }
  }

  /** Ends a child that has answered something else. */
  refuse(): never {
    this.end('an unexpected message');
    throw new EngineError('The engine process sent an unexpected message', true);
  }

  /** Kills the child: it has no state that must be saved. */
  async close(): Promise<void> {
    this.state.closing = true;
    await this.started.catch(() => undefined);
    if (this.child) killAll(this.child);
    await this.exited;
  }

  private async load(limitMs: number): Promise<void> {
    try {
      await this.started;
    } catch (error) {
      this.state.alive = false;
      throw new EngineUnavailableError((error as Error).message, { cause: error });
    }
    const message = await this.nextMessage(limitMs, () => undefined);
    if ('ready' in message) {
      this.state.ready = true;
      return;
    }
    const said = 'problem' in message ? message.problem : 'The engine process sent an unexpected message';
    const problem = this.module.explain?.('ended by itself', said) ?? said;
    this.end(problem);
    throw new EngineUnavailableError(problem);
  }

  private watch(child: ChildProcess): void {
    this.child = child;
    this.stderrTail = keepStderrTail(child.stderr);
    this.exited = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
    child.on('error', (error) => this.markLost(error.message));
    child.on('exit', (code, signal) => void this.handleExit(endOf(code, signal)));
    // Its exit is reported instead.
    child.stdin?.on('error', () => undefined);
    const receiver = {
      // A message that nobody waits for could pass for the answer to the next request, which is another's.
      message: (message: ChildMessage) =>
        this.pending ? this.settle(message) : this.end('a message without a request'),
      broken: (error: Error) => this.end(error.message),
    };
    receiveMessages(child.stdio[MESSAGE_DESCRIPTOR] as Readable, receiver, this.module.maxLineBytes);
  }

  private settle(message: ChildMessage): void {
    const pending = this.pending;
    this.pending = null;
    pending?.resolve(message);
  }

  private send(audio: ChildAudio, options: object): void {
    const json = Buffer.from(JSON.stringify(options));
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(json.length);
    header.writeUInt32LE(audio instanceof Uint8Array ? audio.length : audio.bytes, LENGTH_BYTES);
    const stdin = this.child?.stdin as Writable;
    stdin.write(Buffer.concat([header, json]));
    if (audio instanceof Uint8Array) stdin.write(audio);
    else if (audio.bytes > 0) void this.sendFile(audio, stdin);
  }

  private async sendFile({ file, bytes }: { file: string; bytes: number }, stdin: Writable): Promise<void> {
    try {
      for await (const part of createReadStream(file, { end: bytes - 1, highWaterMark: FILE_PART_BYTES }))
        await written(stdin, part as Buffer);
    } catch (error) {
      // The end of the child is the cause otherwise, and is reported instead.
      if (this.state.alive) this.end(`its audio cannot be sent: ${(error as Error).message}`);
    }
  }

  private async nextMessage(limitMs: number, request: () => void): Promise<ChildMessage> {
    this.keepProcessAlive(true);
    const limit = setTimeout(() => this.end(`no answer within ${Math.round(limitMs / 1000)} s`), limitMs);
    try {
      return await new Promise((resolve, reject) => {
        this.pending = { resolve, reject };
        request();
      });
    } finally {
      clearTimeout(limit);
      this.pending = null;
      this.keepProcessAlive(false);
    }
  }

  private async handleExit(end: number | string | null): Promise<void> {
    this.state.alive = false;
    const stderr = this.child?.stderr;
    if (stderr?.readableEnded === false) {
      const read = once(stderr, 'end').catch(() => undefined);
      await Promise.race([read, delay(LAST_OUTPUT_MS, undefined, { ref: false })]);
    }
    // The machine may permit less than when it was probed.
    if (!this.state.ready && failedToStart(this.stderrTail())) forgetIsolation();
    this.markLost(`ended by ${typeof end === 'number' ? `exit code ${end}` : end}`);
  }

  private end(reason: string): void {
    this.markLost(reason);
    if (this.child) killAll(this.child);
  }

  private markLost(reason: string): void {
    this.state.alive = false;
    this.pending?.reject(this.lossOf(reason));
  }

  private lossOf(reason: string): EngineError {
    const stderr = this.stderrTail();
    const options = { cause: stderr || undefined };
    const message = `The engine process was lost: ${reason}`;
    if (this.state.ready || this.state.closing) return new EngineError(message, !this.state.closing, options);
    return new EngineUnavailableError(this.module.explain?.(reason, stderr) ?? withError(message, stderr), options);
  }

  /** Whether the child and its pipes keep this process alive. */
  private keepProcessAlive(on: boolean): void {
    const call = on ? 'ref' : 'unref';
    this.child?.[call]();
    const { stdin, stderr, stdio } = this.child ?? {};
    for (const stream of [stdin, stderr, stdio?.[MESSAGE_DESCRIPTOR]] as (Socket | null | undefined)[])
      stream?.[call]();
  }
}

function written(stream: Writable, part: Buffer): Promise<void> {
  return new Promise((resolve, reject) => stream.write(part, (error) => (error ? reject(error) : resolve())));
}

/** With the first error that a process wrote. It is shown to operators, so it must not have read any audio. */
function withError(message: string, stderr: string): string {
  const [line] = /^\S.*error(?: \[\w+\])?: .*$/im.exec(stderr) ?? [];
  return line === undefined ? message : `${message}: ${line.slice(0, MAX_ERROR_LENGTH)}`;
}

/**
 * The built files, even when this one runs from source: Node cannot fork TypeScript, and Jest turns modules into
 * CommonJS. The package root is five folders up from both src and dist.
 */
const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const DIST = path.join(ROOT, 'dist');

/** What every child reads: the built service and the folders in which Node looks for its packages. */
export const CHILD_READS = [DIST, path.join(ROOT, 'package.json'), ...packageFolders(ROOT)] as const;

/** @param name below the folder of transcriptions, without `.child.js` */
export function childFile(name: string): string {
  return path.join(DIST, `modules/transcriptions/${name}.child.js`);
}

/** Every folder in which Node looks for the packages that a module in this folder imports. */
function packageFolders(folder: string): string[] {
  const parent = path.dirname(folder);
  const here = [path.join(folder, 'node_modules')].filter((candidate) => existsSync(candidate));
  return parent === folder ? here : [...here, ...packageFolders(parent)];
}
