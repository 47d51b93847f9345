import { readFileSync } from 'node:fs';

/**
 * Milliseconds, so far, in which this test process, or those with these process ids, were ready to run and other
 * processes had the CPU (schedstat of the main thread, proc(5)); 0 where that is unknown. What a process computes, or
 * waits for without needing the CPU, is not counted: a service that is slow, or blocks, stays slow in what is left
 * after subtraction.
 */
export function waitedForCpu(pids: Iterable<number> = [process.pid]): number {
  try {
    const nanoseconds = [...pids].map((pid) => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]));
    return nanoseconds.reduce((sum, value) => sum + value, 0) / 1_000_000;
  } catch {
    return 0;
  }
}

/** A clock in milliseconds that stands while these processes wait for the CPU. */
export function workClock(pids?: Iterable<number>): number {
  return performance.now() - waitedForCpu(pids);
}

/**
 * Starts to measure. Each call of what is returned gives the milliseconds since then, without those in which other
 * processes had the CPU: a duration that can be compared with a limit on a busy machine too.
 * @param pids of the processes whose work is measured: by default of this one, in which most tests run the service.
 */
export function startStopwatch(pids: readonly number[] = [process.pid]): () => number {
  const started = workClock(pids);
  return () => Math.max(0, workClock(pids) - started);
}

/** Milliseconds of CPU time that the main thread of this process has taken so far (proc(5)). Linux only. */
export function mainThreadCpuTime(): number {
  return Number(readFileSync(`/proc/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000;
}

/**
 * Starts to measure. Each call of what is returned gives the milliseconds of CPU time that this process has taken since
 * then: unlike the time of a clock, it does not grow while other processes have the CPU.
 */
export function startCpuTime(): () => number {
  const started = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(started);
    return (user + system) / 1000;
  };
}
