import { readFileSync } from 'node:fs';

/** A local file is read at once: silence from the decoder while we wait for it means that it hangs. */
const STALL_MS = 60_000;
/**
 * CPU seconds without a sound: the file keeps the decoder busy with something else, as a million tags do, each of which
 * is compared with all before it. Usual: 0.1.
 */
const BARREN_CPU_SECONDS = 15;
const LOOK_MS = 500;
/** USER_HZ, which is 100 on every machine that Linux and Node run on together. */
const TICKS_PER_SECOND = 100;

/** Watches a decoder while its output is waited for, and ends it when none comes. */
export class ProgressWatch {
  /** Why the decoder was ended; null while it was not. */
  verdict: 'barren' | 'hung' | null = null;
  /** That the process has used, as last seen; 0 where the system does not tell. */
  cpuSeconds = 0;
  private readonly timer = setInterval(() => this.look(), LOOK_MS);
  private isPaused = false;
  private isFresh = true;
  private cpuBefore = 0;
  private since = Date.now();

  constructor(
    private readonly pid: number,
    private readonly end: () => void,
  ) {}

  /** Output has come, and its reader takes its time. */
  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
    this.isFresh = true;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    this.cpuSeconds = cpuSecondsOf(this.pid) ?? this.cpuSeconds;
    if (this.isPaused || this.isFresh) {
      this.isFresh = false;
      this.cpuBefore = this.cpuSeconds;
      this.since = Date.now();
    } else if (this.cpuSeconds - this.cpuBefore > BARREN_CPU_SECONDS) this.give('barren');
    else if (Date.now() - this.since > STALL_MS) this.give('hung');
  }

  private give(verdict: 'barren' | 'hung'): void {
    this.verdict = verdict;
    this.stop();
    this.end();
  }
}

/** Null where there is no /proc, or the process has gone. */
function cpuSecondsOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // proc(5): utime and stime are the 14th and 15th field, the name in parentheses, which may hold anything, the 2nd.
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    return (Number(user) + Number(system)) / TICKS_PER_SECOND;
  } catch {
    return null;
  }
}
