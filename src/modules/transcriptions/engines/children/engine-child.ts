import { fork, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { childEnvironment } from '../../../../platform/config/child-environment.js';
import { sandboxed, type Limits } from '../../decoding/sandbox.js';
import { EngineError, type ChunkTranscript } from '../transcription-engine.js';

/** What a child says: once that it is ready or why it cannot be, then one transcript for each piece it is sent. */
export type ChildMessage = { ready: true } | { problem: string } | { transcript: ChunkTranscript };

/** 16 kHz mono, signed 16-bit little-endian. */
export interface ChildRequest {
  pcm: Uint8Array;
}

/**
 * Measured with the model loaded and after minutes of audio: 205 MB of private memory, 140 of them resident, and 21 open
 * files. There is no limit on CPU time, since a child lives as long as the service: the time for one piece is limited.
 */
const LIMITS: Limits = { dataBytes: 512 << 20, openFiles: 64 };
const LOAD_LIMIT_MS = 60_000;
const STDERR_TAIL_BYTES = 2_048;

/**
 * A process that recognises one piece after the other. Crashes and hangs of the native library stay in it. While
 * nothing is asked of it, it does not keep this process alive, and it ends with it.
 */
export class EngineChild {
  /** Rejects with an EngineError that says why this machine cannot run the engine. */
  readonly ready: Promise<void>;
  private readonly child: ChildProcess;
  private readonly exited: Promise<unknown>;
  private readonly state = { ready: false, busy: false, alive: true, closing: false };
  private settle: { resolve: (message: ChildMessage) => void; reject: (fault: EngineError) => void } | null = null;
  private errorTail = '';

  constructor(module: string) {
    // No flags of this process (a debugger's port, a test's loader): they are not for the child.
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
    this.child.on('message', (message: ChildMessage) => this.settle?.resolve(message));
    this.child.on('error', (error) => this.lose(error.message));
    this.child.on('exit', (code, signal) => this.lose(`ended by ${signal ?? `exit code ${code}`}`));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.errorTail = (this.errorTail + text).slice(-STDERR_TAIL_BYTES);
    });
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

  /** @throws EngineError when the child crashes, or is still at it after `limitMs` and is killed for it. */
  async recognise(pcm: Uint8Array, limitMs: number): Promise<ChunkTranscript> {
    this.state.busy = true;
    try {
      await this.ready;
      const message = await this.answer(limitMs, () => this.child.send({ pcm } satisfies ChildRequest));
      if ('transcript' in message) return message.transcript;
      throw new EngineError('The engine process answered out of turn', false);
    } finally {
      this.state.busy = false;
    }
  }

  /** Ends the child at once: it holds nothing worth saving. */
  async close(): Promise<void> {
    this.state.closing = true;
    this.child.kill('SIGKILL');
    await this.exited;
  }

  private async load(): Promise<void> {
    const message = await this.answer(LOAD_LIMIT_MS, () => undefined);
    if ('problem' in message) {
      this.child.kill('SIGKILL');
      this.state.alive = false;
      throw new EngineError(message.problem, false);
    }
    this.state.ready = true;
  }

  private async answer(limitMs: number, begin: () => void): Promise<ChildMessage> {
    this.hold(true);
    const limit = setTimeout(() => {
      this.lose(`no answer within ${Math.round(limitMs / 1000)} s`);
      this.child.kill('SIGKILL');
    }, limitMs);
    try {
      return await new Promise((resolve, reject) => {
        this.settle = { resolve, reject };
        begin();
      });
    } finally {
      clearTimeout(limit);
      this.settle = null;
      this.hold(false);
    }
  }

  private lose(reason: string): void {
    this.state.alive = false;
    const audioSuspected = this.state.ready && !this.state.closing;
    const cause = this.errorTail || undefined;
    this.settle?.reject(new EngineError(`The engine process was lost: ${reason}`, audioSuspected, { cause }));
  }

  /** Whether the child, its channel and its standard error keep this process alive. */
  private hold(on: boolean): void {
    const call = on ? 'ref' : 'unref';
    this.child[call]();
    this.child.channel?.[call]();
    (this.child.stderr as Socket | null)?.[call]();
  }
}
