import { baseUrl, keyPair } from './session';

/** The service takes the credentials of pages here: they cannot set headers of a WebSocket. */
const CREDENTIAL = 'openai-insecure-api-key.';

/**
 * A WebSocket that takes audio while it is recorded. The key pair signs it in, or the cookie of a session: with an access token the recording would be
 * that of an end user.
 */
export function openRealtime(parameters: URLSearchParams): WebSocket {
  const url = new URL(`v1/realtime?${parameters}`, baseUrl());
  url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
  const pair = keyPair();
  return new WebSocket(url, ['realtime', ...(pair ? [`${CREDENTIAL}${pair.key}.${pair.secret}`] : [])]);
}
