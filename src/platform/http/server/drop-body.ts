import type { IncomingMessage, ServerResponse } from 'node:http';

/** Milliseconds that a client may keep sending after the response. */
export const GRACE_MS = 1000;

/**
 * For a response that is sent before the body has arrived. The rest of the body is read and discarded for a second, then
 * the connection is closed. Without the reading the client would see a broken pipe instead of the response. Without the
 * close it could keep sending forever.
 */
export function discardRemainingBody(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || request.destroyed) return;
  request.unpipe();
  request.resume();
  // If the client sent `Connection: close`, Node would close the connection with the response.
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
