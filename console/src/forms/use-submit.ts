import { type ReadonlySignal, useSignal } from '@preact/signals';

export interface Submission {
  busy: ReadonlySignal<boolean>;
  error: ReadonlySignal<unknown>;
  /** Runs the request unless one is under way. Its failure is kept in `error`. */
  run: (send: () => Promise<void>) => Promise<void>;
}

/** The one request that a form or a dialog sends. */
export function useSubmit(): Submission {
  const busy = useSignal(false);
  const error = useSignal<unknown>(null);
  const run = async (send: () => Promise<void>) => {
    if (busy.value) return;
    [busy.value, error.value] = [true, null];
    try {
      await send();
    } catch (caught) {
      error.value = caught;
    } finally {
      busy.value = false;
    }
  };
  return { busy, error, run };
}
