import type { ErrorShape } from '../../platform/errors/error-body.js';
import { ApiError } from '../../platform/errors/errors.js';
import { NOT_JSON } from '../../platform/http/input/parse-body.js';
import { MCP_PATH } from '../../platform/http/server/request-line.js';

/** A server without sessions takes POST only. */
export class MethodNotAllowedError extends ApiError {
  readonly status = 405;
  readonly code = 2017;
  readonly type = 'MethodNotAllowedError';

  constructor() {
    super('This server has no sessions and no streams to resume. Use POST.');
  }
}

/** A page of another origin may not use the server, whatever name it has found for its address. */
export class ForeignOriginError extends ApiError {
  readonly status = 403;
  readonly code = 1006;
  readonly type = 'ForeignOriginError';

  constructor() {
    super('Pages of this origin may not use the MCP server. The operator can allow it in CORS_ORIGINS.');
  }
}

/** Codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INTERNAL_ERROR = -32_603;
const SERVER_ERROR = -32_000;

/** What is refused before a message is read: JSON-RPC clients look for an error in its form. */
export const MCP_ERRORS: ErrorShape = {
  body: (error) => ({
    jsonrpc: '2.0',
    id: null,
    error: {
      code: rpcCodeOf(error),
      message: error.message,
      data: { code: error.code, type: error.type, details: error.details },
    },
  }),
  appliesTo: (path) => path === MCP_PATH,
  schemaName: 'JsonRpcError',
  schema: { type: 'object' },
};

function rpcCodeOf({ status, message }: ApiError): number {
  if (message === NOT_JSON) return PARSE_ERROR;
  if (status === 400 || status === 413) return INVALID_REQUEST;
  return status >= 500 ? INTERNAL_ERROR : SERVER_ERROR;
}
