import type { IncomingMessage } from 'node:http';

/** Ids of the caller of a request, for its line in the log. Never names or addresses of persons. */
export interface RequestCaller {
  account_id: string;
  /** The API key, or the one that issued the access token. */
  key_id?: string | undefined;
  token_id?: string | undefined;
}

export function setCaller(request: IncomingMessage, caller: RequestCaller): void {
  (request as { caller?: RequestCaller }).caller = caller;
}

/** Undefined for a request without valid credentials. */
export function callerOf(request: IncomingMessage): RequestCaller | undefined {
  return (request as { caller?: RequestCaller }).caller;
}
