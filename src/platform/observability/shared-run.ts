/**
 * Concurrent calls share one run of `build`, and calls within `keepMs` after it its result.
 * @param keepMs 0: only concurrent calls.
 */
export function sharedRun<T>(build: () => Promise<T>, keepMs = 0): () => Promise<T> {
  let current: Promise<T> | undefined;
  let until = Infinity;
  return () => {
    if (current && performance.now() < until) return current;
    until = Infinity;
    current = build().finally(() => {
      until = performance.now() + keepMs;
    });
    return current;
  };
}
