import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody } from '../../errors/error-body.js';
import { type ApiError, MalformedRequestError, RequestTimeoutError } from '../../errors/errors.js';

const PARSER_ERRORS: Record<string, [status: number, error: ApiError]> = {
  HPE_HEADER_OVERFLOW: [431, new MalformedRequestError('The URL and the headers are larger than 8 KB.')],
  ERR_HTTP_REQUEST_TIMEOUT: [408, new RequestTimeoutError('The request did not arrive in time.')],
};
const NOT_HTTP: [number, ApiError] = [400, new MalformedRequestError('The request is not valid HTTP/1.1.')];

/** Answers what Node's parser refuses with the error envelope, and closes the connection (D6). */
export function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  // Already answered. To destroy the socket now could lose the response.
  if (socket.writableEnded) return;
  if (error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, answer] = PARSER_ERRORS[error.code ?? ''] ?? NOT_HTTP;
  endWithError(socket, answer, status);
}

/**
 * Sends an error where no response object can do it, and closes the connection: after a second also if the client keeps
 * its own half open.
 * @param url of the request, where one was read.
 */
export function endWithError(socket: Socket, error: ApiError, status = error.status, url = ''): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errorBody(error, url));
  const retry = error.retryAfter === undefined ? '' : `Retry-After: ${error.retryAfter}\r\n`;
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nX-Request-Id: ${randomUUID()}\r\n${retry}` +
      `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  setTimeout(() => socket.destroy(), GRACE_MS).unref();
}

/** Milliseconds that a client may keep sending after the response. */
const GRACE_MS = 1000;

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
