import type { IncomingMessage, ServerResponse } from 'node:http';
import { randomUUID } from 'node:crypto';

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Keeps the id of the client if it has the allowed form, and sends it in the response. */
export function assignRequestId(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  Object.assign(request, { id });
  response.setHeader('X-Request-Id', id);
}

export function requestIdOf(request: IncomingMessage): string {
  return (request as { id?: string }).id ?? 'unknown';
}
