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
