import type { Request } from 'express';

/** What is outside it, the console for example, is neither authenticated nor limited (D6). */
export const API_ROOT = '/v1';

/** Whether a request is under `/v1`. */
export function isApiRequest({ path }: Request): boolean {
  return path === API_ROOT || path.startsWith(`${API_ROOT}/`);
}
