import { useCallback, useEffect, useRef, useState } from 'preact/hooks';

export interface Async<T> {
  /** Kept while it is loaded again, so that the page does not jump. */
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

/**
 * Loads when the component appears and when one of `deps` changes. What was asked for before is aborted.
 * @param load receives a signal for the request
 * @param initial shown until it is loaded
 */
export function useAsync<T>(
  load: (signal: AbortSignal) => PromiseLike<T>,
  deps: readonly unknown[],
  initial?: T,
): Async<T> {
  const [state, setState] = useState<Omit<Async<T>, 'reload'>>({ value: initial, error: undefined, loading: true });
  const [turn, setTurn] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const request = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    latest.current(request.signal).then(
      (value) => request.signal.aborted || setState({ value, error: undefined, loading: false }),
      (error: unknown) => request.signal.aborted || setState((before) => ({ ...before, error, loading: false })),
    );
    return () => request.abort();
  }, [...deps, turn]);
  return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}
