/** The person at the terminal, or the system, ended the command. */
class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}

/** A signal that is aborted by Ctrl-C or a stop, so that what was received is kept and the lock is released. */
export function onInterruption(message: string): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new InterruptedError(message));
  process.once('SIGINT', abort).once('SIGTERM', abort).once('SIGHUP', abort);
  return controller.signal;
}
