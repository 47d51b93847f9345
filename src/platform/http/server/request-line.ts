import type { Request, Response } from 'express';
import { MalformedRequestError } from '../../errors/errors.js';

/** `GET http://host/path` asks for `/path` (RFC 9112 §3.2.2); everything behind this point may rely on the slash. */
export function originForm(target: string): string {
  if (target.startsWith('/') || target === '*') return target;
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

/** What must be right of every request, whichever path it asks for. */
export function validateRequestLine(request: Request, _response: Response, next: (error?: unknown) => void): void {
  next(requestError(request));
}

function requestError({ rawHeaders, httpVersion, path }: Request): MalformedRequestError | undefined {
  // RFC 9112 §3.2: exactly one Host, but for HTTP/1.0.
  const hosts = rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === 'host').length;
  const fits = hosts === 1 || (hosts === 0 && httpVersion === '1.0');
  if (!fits) return new MalformedRequestError('Exactly one Host header is required.');
  return isDecodable(path) ? undefined : new MalformedRequestError('The URL has a malformed percent-encoding.');
}

function isDecodable(path: string): boolean {
  try {
    return !path.includes('%') || decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}
