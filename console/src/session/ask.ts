import { ApiError, ConnectionError, rateLimitOf } from 'vnotes';

import { baseUrl, keyPair } from './session';

/**
 * What the client library, which is for programs, does not do. The browser adds the cookie of a session.
 * @param path below `/v1/`
 * @throws ApiError, ConnectionError
 */
export async function ask<T>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<T> {
  const pair = keyPair();
  const headers = {
    ...(pair && { 'X-Service-API-Key': pair.key, 'X-Service-API-Secret': pair.secret }),
    ...(body && { 'Content-Type': 'application/json' }),
  };
  let response: Response;
  try {
    response = await fetch(`${baseUrl()}v1/${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
  } catch (cause) {
    throw new ConnectionError('The connection failed.', { cause });
  }
  const { status, headers: received } = response;
  const answer = (status === 204 ? {} : await response.json().catch(() => ({}))) as Partial<ErrorBody>;
  if (response.ok) return answer as T;
  const { message = '', type = 'UnknownError', code = null, details = {} } = answer.error ?? {};
  const retryAfter = received.has('retry-after') ? Number(received.get('retry-after')) : null;
  const requestId = received.get('x-request-id');
  throw new ApiError(message, { status, type, code, details, requestId, rateLimit: rateLimitOf(received), retryAfter });
}

interface ErrorBody {
  error: { message: string; type: string; code: number; details: Record<string, unknown> };
}
