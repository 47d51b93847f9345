import type { NextFunction, Request, Response } from 'express';
import { MalformedRequestError } from '../../errors/errors.js';

/** A request whose first line and Host header were checked. */
export interface CheckedRequest extends Request {
  requestLineError?: MalformedRequestError;
}

/** `GET http://host/path` asks for `/path` (RFC 9112 §3.2.2); everything after this may rely on the slash. */
export function originForm(target: string): string {
  if (target.startsWith('/') || target === '*') return target;
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Refuses what Express could not route. Under `/v1` the request is sent to the catch-all route, which throws
 * `requestLineError`, so that it passes the guards before it is refused: it takes a token like every other (D6).
 */
export function validateRequestLine(request: CheckedRequest, _response: Response, next: NextFunction): void {
  const error = requestError(request);
  if (error && isApiRequest(request)) {
    request.requestLineError = error;
    request.url = API_ROOT;
    next();
  } else {
    next(error);
  }
}

function requestError({ rawHeaders, httpVersion, path }: Request): MalformedRequestError | undefined {
  // RFC 9112 §3.2: exactly one Host header; HTTP/1.0 may go without.
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

/** What is outside it, the console for example, is neither authenticated nor limited (D6). */
const API_ROOT = '/v1';
/** The server for assistants, with the credentials and the limits of the API (D84). */
export const MCP_PATH = '/mcp';
/** The only path at which a connection becomes a WebSocket (D90). */
export const REALTIME_PATH = '/v1/realtime';

/** Whether a request is under `/v1` or to the server for assistants: those are authenticated and limited. */
export function isApiRequest({ path }: Request): boolean {
  return path === API_ROOT || path.startsWith(`${API_ROOT}/`) || path === MCP_PATH;
}
