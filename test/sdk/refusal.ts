import { ApiError } from '../../sdk/src/http/errors.js';

/** An error response of the service with this status. @param retryAfter in seconds. */
export const refusal = (status: number, retryAfter: number | null = null): ApiError =>
  new ApiError('', { status, retryAfter, type: '', code: null, details: {}, requestId: null, rateLimit: null });
