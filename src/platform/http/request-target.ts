import type { IncomingMessage, ServerResponse } from 'node:http';
import { MalformedRequestError } from '../errors/errors.js';

/** `GET http://host/path` asks for `/path` (RFC 9112 §3.2.2); everything behind this point may rely on the slash. */
export function originForm(target: string): string {
  if (target.startsWith('/') || target === '*') return target;
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

/** RFC 9112 §3.2: exactly one Host, but for HTTP/1.0. */
export function requireHost(
  request: IncomingMessage,
  _response: ServerResponse,
  next: (error?: unknown) => void,
): void {
  const hosts = request.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'host').length;
  const fits = hosts === 1 || (hosts === 0 && request.httpVersion === '1.0');
  next(fits ? undefined : new MalformedRequestError('A request has one Host header.'));
}
