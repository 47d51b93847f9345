import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { BYTES_PER_SAMPLE } from '../audio/pcm.js';
import { FRAME_BYTES, FRAME_SAMPLES, type SpeechDetector } from './speech-detector.js';
import { CONTEXT_SAMPLES, type SileroAnswer, type SileroRequest, WINDOW_SAMPLES } from './silero-stream.js';

/** Beside this file, in src and in dist. */
export const SILERO_FILE = fileURLToPath(new URL('silero_vad_16k.onnx', import.meta.url));

/** Silero VAD: recognises voices, whatever else is to be heard. */
export class SileroDetector implements SpeechDetector {
  readonly knowsVoices = true;
  private readonly windows: boolean[] = [];
  private frames = 0;
  private answered = 0;

  constructor(
    private readonly thread: Pick<SileroThread, 'detect' | 'release'>,
    private readonly stream: number,
  ) {}

  async detect(pcm: Buffer): Promise<boolean[]> {
    this.frames += pcm.length / FRAME_BYTES;
    return await this.advance(pcm, false);
  }

  async end(): Promise<boolean[]> {
    return await this.advance(Buffer.alloc(0), true);
  }

  close(): void {
    this.thread.release(this.stream);
  }

  private async advance(pcm: Buffer, last: boolean): Promise<boolean[]> {
    this.windows.push(...(await this.thread.detect(this.stream, samplesOf(pcm), last)));
    const flags: boolean[] = [];
    while (this.answered < this.frames) {
      const window = this.windows[windowOf(this.answered)] ?? (last ? false : null);
      if (window === null) break;
      flags.push(window);
      this.answered++;
    }
    return flags;
  }
}

/** The window around the middle of a frame. */
function windowOf(frame: number): number {
  const middle = (frame + 0.5) * FRAME_SAMPLES;
  return Math.max(0, Math.floor((middle - CONTEXT_SAMPLES) / WINDOW_SAMPLES));
}

/** A copy, which the thread takes over. */
function samplesOf(pcm: Buffer): Int16Array<ArrayBuffer> {
  const samples = new Int16Array(pcm.length / BYTES_PER_SAMPLE);
  pcm.copy(Buffer.from(samples.buffer));
  return samples;
}

/**
 * The built file, even when this one runs from source: Node cannot start TypeScript, and Jest turns modules into
 * CommonJS. The package root is four folders up from both src and dist.
 */
const DIST = fileURLToPath(new URL('../../../../dist/modules/transcriptions/speech/', import.meta.url));
const THREAD = path.join(DIST, 'silero.thread.js');

/** A block of 5 s takes about 20 ms, and each recording has one block at a time in the thread. */
const ANSWER_LIMIT_MS = 60_000;

interface Pending {
  resolve: (windows: boolean[]) => void;
  reject: (error: Error) => void;
}

/**
 * A thread with Silero's model for all recordings of this process. A thread, because a block of audio would occupy the
 * event loop for 20 ms; no process, because the model sees nothing but samples and ships with the service.
 */
export class SileroThread {
  private readonly worker: Worker;
  private readonly pending = new Map<number, Pending>();
  private lost: Error | null = null;
  private ended = false;
  private closing = false;
  /** 1: the thread ends instead of taking the next block. */
  private readonly stopping = new Int32Array(new SharedArrayBuffer(4));

  /** @param onLost called once, with the reason, when the thread cannot work or ends without `close`. */
  constructor(
    private readonly onLost: (error: Error) => void,
    model: string,
  ) {
    // Without the flags of this process, such as a debugger port or a test loader, and without its environment.
    this.worker = new Worker(THREAD, {
      name: 'silero',
      workerData: { model, stopping: this.stopping },
      execArgv: [],
      env: {},
    });
    this.worker.unref();
    this.worker.on('message', (answer: SileroAnswer) => {
      if ('problem' in answer) this.lose(new Error(answer.problem));
      else this.pending.get(answer.stream)?.resolve(answer.windows);
    });
    this.worker.on('error', (error) => this.lose(error));
    this.worker.on('exit', (code) => {
      this.ended = true;
      this.lose(new Error(`The thread ended with code ${code}`));
    });
  }

  /** @returns the windows that the block decides. Only one block of a stream may be pending. */
  async detect(stream: number, pcm: Int16Array<ArrayBuffer>, last: boolean): Promise<boolean[]> {
    if (this.lost) throw this.lost;
    this.worker.ref();
    const limit = setTimeout(() => this.lose(new Error('The thread does not answer')), ANSWER_LIMIT_MS);
    try {
      return await new Promise((resolve, reject) => {
        this.pending.set(stream, { resolve, reject });
        this.send({ stream, pcm, last }, [pcm.buffer]);
      });
    } finally {
      clearTimeout(limit);
      this.pending.delete(stream);
      // While it closes, it is waited for: the end of this process would break off a call of the library, too.
      if (this.pending.size === 0 && !this.closing) this.worker.unref();
    }
  }

  /** The recording needs no more. */
  release(stream: number): void {
    if (!this.lost) this.send({ stream, close: true });
  }

  async close(): Promise<void> {
    this.closing = true;
    this.fail(new Error('The thread was closed'));
    this.stop();
    if (this.ended) return;
    this.worker.ref();
    await once(this.worker, 'exit');
  }

  private send(request: SileroRequest, transfer: ArrayBuffer[] = []): void {
    this.worker.postMessage(request, transfer);
  }

  private lose(error: Error): void {
    if (this.lost) return;
    this.fail(error);
    this.onLost(error);
    this.stop();
  }

  /** After the block that it has begun. To terminate a thread within the library would abort this whole process. */
  private stop(): void {
    Atomics.store(this.stopping, 0, 1);
    if (!this.ended) this.send({ stream: -1, close: true });
  }

  private fail(error: Error): void {
    this.lost ??= error;
    for (const { reject } of this.pending.values()) reject(this.lost);
  }
}
