import type { IncomingMessage, ServerResponse } from 'node:http';
import { type DestinationStream, pino, type Logger } from 'pino';
import { pinoHttp, type HttpLogger } from 'pino-http';
import type { Env } from '../config/env.js';
import { assignRequestId } from '../http/request-id.js';

/**
 * JSON lines. Of a request only what is listed here is logged: never its headers or bodies.
 * @param destination standard output, if not given.
 */
export function createLogger(env: Env, destination?: DestinationStream): Logger {
  const options = {
    level: env.logLevel,
    base: { pid: process.pid },
    formatters: { level: (level: string) => ({ level }) },
    serializers: { err: describeError },
  };
  return destination ? pino(options, destination) : pino(options);
}

export function createHttpLogger(logger: Logger): HttpLogger {
  return pinoHttp({
    logger,
    // Those of pino-http would log every header, and with them the credentials.
    wrapSerializers: false,
    serializers: {
      err: describeError,
      req: describeRequest,
      res: (response: ServerResponse) => ({ status: response.statusCode }),
    },
    genReqId: assignRequestId,
    customLogLevel: (_request, response) => (response.statusCode >= 500 ? 'error' : 'info'),
    customSuccessMessage: () => 'answered',
    customErrorMessage: () => 'answered',
    // The error filter has logged the error itself, with its stack.
    customErrorObject: (_request, _response, _error, value: object) => ({ ...value, err: undefined }),
    autoLogging: { ignore: (request) => request.url?.startsWith('/health') ?? false },
  });
}

function describeRequest({ id, method, url, socket }: IncomingMessage & { id?: unknown }): object {
  const path = url?.split('?')[0]?.replace(MISPLACED_SECRET, '$1…');
  return { id, method, path, address: socket.remoteAddress };
}

/**
 * What clients hold and may put into a path by mistake: secrets of keys and webhooks, access tokens. All that follows
 * goes, too: base64 has slashes.
 */
const MISPLACED_SECRET = /(vns_|whsec_|eyJ).*$/;

/** Errors of the database carry the query and its parameters, which may be secrets or what somebody said. */
function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message, stack } = error;
  const code = 'code' in error ? error.code : undefined;
  const cause = error.cause === undefined ? undefined : describeError(error.cause);
  return { type: name, message, code, stack, cause };
}
