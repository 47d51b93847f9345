import type { IncomingMessage, ServerResponse } from 'node:http';

/** How long a client may go on sending after its answer. */
export const GRACE_MS = 1000;

/**
 * For an answer that is sent before the body has arrived: the rest is read and dropped for a second, so that the
 * client can read the answer, and then the connection is ended. Without the reading the client would see a broken pipe,
 * without the end it could go on sending for ever.
 */
export function discardRemainingBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return;
  request.unpipe();
  request.resume();
  // With the answer Node would also end the connection of a client that has asked for its end, and break its pipe.
  const isLast = !response.shouldKeepAlive;
  response.shouldKeepAlive = true;
  response.once('finish', () => {
    const { socket } = request;
    setTimeout(() => {
      if (!request.complete) socket.destroy();
    }, GRACE_MS).unref();
    if (!isLast) return;
    if (request.complete) socket.end();
    else request.once('end', () => socket.end());
  });
}
