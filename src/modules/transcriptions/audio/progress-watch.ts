import { cpuSecondsOf } from '../../../platform/processes/cpu-seconds.js';

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
    else if (Date.now() - this.since > STALL_MS) this.stopBecause('hung');
  }

  private stopBecause(reason: StopReason): void {
    this.stopReason = reason;
    this.stop();
    this.stopDecoder();
  }
}
