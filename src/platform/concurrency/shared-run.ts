/**
 * Concurrent calls share one run of `build`, and calls within `keepMs` after it its result. A failure is not kept.
 * @param keepMs 0: only concurrent calls.
 */
export function sharedRun<T>(build: () => Promise<T>, keepMs = 0): () => Promise<T> {
  let current: Promise<T> | undefined;
  let until = 0;
  return () => {
    if (current && performance.now() < until) return current;
    until = Infinity;
    current = build();
    void current.then(
      () => (until = performance.now() + keepMs),
      () => (until = 0),
    );
    return current;
  };
}
