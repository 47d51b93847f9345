import type { ApiError } from './errors.js';

/** The envelope of every error; a refused rate limit also says `success: false`. */
export function errorBody({ code, message, type, details, status }: ApiError): object {
  const error = { code, message, type, details };
  return status === 429 ? { success: false, error } : { error };
}
