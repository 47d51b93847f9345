import type { Response } from 'express';

/** @throws what the request is answered with instead. */
type Work = (failed: boolean) => Promise<void>;

const works = new WeakMap<Response, Work>();

/**
 * Has `work` done once for a request: before its answer, where the handler returns it or throws. A handler that sends the
 * answer itself has done so by then, and what `onLate` gets is too late to be answered.
 */
export function doBeforeAnswer(response: Response, work: Work, onLate: (error: unknown) => void): void {
  works.set(response, work);
  response.once('close', () => {
    workBeforeAnswer(response, !response.headersSent || response.statusCode >= 400)?.catch(onLate);
  });
}

/** What is to be done before this response is sent, begun; null for nothing. */
export function workBeforeAnswer(response: Response, failed: boolean): Promise<void> | null {
  const work = works.get(response);
  if (!work) return null;
  works.delete(response);
  return work(failed);
}
