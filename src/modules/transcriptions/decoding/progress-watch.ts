import { readFileSync } from 'node:fs';

/** A local file is read without delay: a decoder without output for this long hangs. */
const STALL_MS = 60_000;
/**
 * CPU seconds without output. Some files keep the decoder busy with something else: a million tags are each compared with
 * all before them. Typical: 0.1.
 */
const IDLE_CPU_SECONDS = 15;
const CHECK_INTERVAL_MS = 500;
/** USER_HZ is 100 on every Linux platform that Node supports. */
const TICKS_PER_SECOND = 100;

/** `no output`: CPU time without output. `hung`: time without output. */
type StopReason = 'no output' | 'hung';

/** Stops a decoder that produces no output. The time in which its reader is busy does not count. */
export class ProgressWatch {
  /** Why the decoder was stopped; null if it was not. */
  stopReason: StopReason | null = null;
  /** CPU time of the process at the last check; 0 without /proc. */
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

/** Of the process and its descendants, since bubblewrap waits for the decoder. Null without /proc, or after its end. */
function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): utime and stime are fields 14 and 15. Field 2 is the name in parentheses, which may contain any character.
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    const own = (Number(user) + Number(system)) / TICKS_PER_SECOND;
    return childrenOf(pid).reduce((sum, child) => sum + (cpuSecondsOf(child) ?? 0), own);
  } catch {
    return null;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
