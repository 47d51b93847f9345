import type { Request } from 'express';

/** Whether a request is under `/v1`: only those are authenticated and limited (D6). */
export function isApiRequest({ path }: Request): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}
