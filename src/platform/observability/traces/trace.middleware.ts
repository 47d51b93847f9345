import type { NextFunction, Request, Response } from 'express';
import { knownMethodOf, routeOf } from '../metrics.js';
import { callerOf } from '../request-log.middleware.js';
import { traces } from './traces.js';

/** Asked for every few seconds by what runs the service. */
const UNTRACED = /^\/(health\/|metrics$)/;

/** Begins the trace of each request. Its path is not recorded, but its route. */
export function traceRequests(request: Request, response: Response, next: NextFunction): void {
  if (UNTRACED.test(request.path)) return next();
  const describe = () => {
    const [method, route, status] = [knownMethodOf(request), routeOf(request), response.statusCode];
    return {
      name: `${method} ${route}`,
      attributes: {
        'http.request.method': method,
        'http.route': route,
        'http.response.status_code': status,
        'voice_notes.account.id': callerOf(request)?.account_id,
      },
      failed: status >= 500,
    };
  };
  traces.request(request, response, describe, next);
}
