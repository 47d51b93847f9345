import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import helmet from 'helmet';

/** Helmet's headers, computed once, because they are the same for every request. */
export function securityHeaders(): (request: Request, response: Response, next: NextFunction) => void {
  const headers = new Map<string, string>();
  const noted = {
    setHeader: (name: string, value: string) => headers.set(name, value),
    removeHeader: (name: string) => headers.delete(name),
  };
  // Behind plain HTTP, as in a private network, a page that upgrades its own requests would not load.
  const protect = helmet({ contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } } });
  protect({} as IncomingMessage, noted as unknown as ServerResponse, () => undefined);
  const entries = [...headers];
  return (_request, response, next) => {
    for (const [name, value] of entries) response.setHeader(name, value);
    next();
  };
}
