import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { childEnvironment } from '../../../../platform/config/child-environment.js';
import { sandboxed, type Limits } from '../../processes/sandbox.js';
import { keepStderrTail } from '../../processes/stderr-tail.js';
import { EngineError, type ChunkTranscript } from '../transcription-engine.js';

/** What a child sends: first that it is ready or why it cannot be, then one transcript for each request. */
export type ChildMessage = { ready: true } | { problem: string } | { transcript: ChunkTranscript };

/** 16 kHz mono, signed 16-bit little-endian. */
export interface ChildRequest {
  pcm: Uint8Array;
}

/**
 * Measured with the model loaded and after minutes of audio: 205 MB of private memory (140 MB resident) and 21 open
 * files. CPU time is not limited, since a child lives as long as the service; the time for each chunk is.
 */
const LIMITS: Limits = { dataBytes: 512 << 20, openFiles: 64 };
const LOAD_LIMIT_MS = 60_000;

/**
 * A process that transcribes one chunk at a time. Crashes and hangs of the native library stay inside it. It ends with
 * this process, and does not keep it alive while idle.
 */
export class EngineChild {
  /** Rejects with an EngineError that says why this machine cannot run the engine. */
  readonly ready: Promise<void>;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;
  private readonly state = { ready: false, busy: false, alive: true, closing: false };
  private readonly stderrTail: () => string;
  private pending: { resolve: (message: ChildMessage) => void; reject: (error: EngineError) => void } | null = null;

  constructor(module: string) {
    // Without the flags of this process, such as a debugger port or a test loader.
    const { program, args } = sandboxed({ program: process.execPath, args: [] }, LIMITS, module);
    this.child = fork(module, [], {
      env: childEnvironment(),
      execPath: program,
      execArgv: args,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.exited = new Promise((resolve) => {
      this.child.once('exit', resolve).once('error', resolve);
    });
    this.child.on('message', (message: ChildMessage) => this.pending?.resolve(message));
    this.child.on('error', (error) => this.markLost(error.message));
    this.child.on('exit', (code, signal) => this.markLost(`ended by ${signal ?? `exit code ${code}`}`));
    this.stderrTail = keepStderrTail(this.child.stderr);
    this.ready = this.load();
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

  /** @throws EngineError when the child crashes, or takes longer than `limitMs` and is killed. */
  async transcribe(pcm: Uint8Array, limitMs: number): Promise<ChunkTranscript> {
    this.state.busy = true;
    try {
      await this.ready;
      const message = await this.nextMessage(limitMs, () => this.child.send({ pcm } satisfies ChildRequest));
      if ('transcript' in message) return message.transcript;
      throw new EngineError('The engine process sent an unexpected message', false);
    } finally {
      this.state.busy = false;
    }
  }

  /** Kills the child: it has no state that must be saved. */
  async close(): Promise<void> {
    this.state.closing = true;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  private async load(): Promise<void> {
    const message = await this.nextMessage(LOAD_LIMIT_MS, () => undefined);
    if ('problem' in message) {
      this.child.kill('SIGKILL');
      this.state.alive = false;
      throw new EngineError(message.problem, false);
    }
    this.state.ready = true;
  }

  private async nextMessage(limitMs: number, request: () => void): Promise<ChildMessage> {
    this.keepProcessAlive(true);
    const limit = setTimeout(() => {
      this.markLost(`no answer within ${Math.round(limitMs / 1000)} s`);
      this.child.kill('SIGKILL');
    }, limitMs);
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

  private markLost(reason: string): void {
    this.state.alive = false;
    const audioSuspected = this.state.ready && !this.state.closing;
    const cause = this.stderrTail() || undefined;
    this.pending?.reject(new EngineError(`The engine process was lost: ${reason}`, audioSuspected, { cause }));
  }

  /** Whether the child, its channel and its standard error keep this process alive. */
  private keepProcessAlive(on: boolean): void {
    const call = on ? 'ref' : 'unref';
    this.child[call]();
    this.child.channel?.[call]();
    (this.child.stderr as Socket | null)?.[call]();
  }
}
