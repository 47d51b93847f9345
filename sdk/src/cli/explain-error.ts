import { ApiError, ConnectionError, TimeoutError } from '../index.js';
import { CliError } from './cli-error.js';
import { EXIT, type ExitCode } from './exit-codes.js';
import { count } from './terminal/format.js';

interface Explanation {
  /** A sentence, and what to do. */
  message: string;
  exitCode: ExitCode;
}

const BY_TYPE: Record<string, ExitCode> = {
  AuthenticationError: EXIT.credentials,
  PermissionError: EXIT.credentials,
  AccountSuspendedError: EXIT.credentials,
  NotFoundError: EXIT.notFound,
  RateLimitError: EXIT.limit,
  QuotaExceededError: EXIT.limit,
  LimitExceededError: EXIT.limit,
  PayloadTooLargeError: EXIT.limit,
};

/** An error in words that a person can act on. */
export function explain(error: unknown): Explanation {
  if (error instanceof CliError) return { message: error.message, exitCode: error.exitCode };
  if (error instanceof ApiError) return { message: adviceFor(error), exitCode: exitCodeOf(error) };
  if (error instanceof TimeoutError) {
    return { message: `The service did not answer in time. Try again later.`, exitCode: EXIT.unavailable };
  }
  if (error instanceof ConnectionError) {
    const cause = causeOf(error);
    const message = `${sentence(error.message)}${cause ? ` (${cause})` : ''} Check the URL and whether the service runs.`;
    return { message: message.replace(/\. \(([^)]*)\)/, ' ($1).'), exitCode: EXIT.unavailable };
  }
  return { message: error instanceof Error ? sentence(error.message) : String(error), exitCode: EXIT.failure };
}

/** For `--verbose`: what to quote to the operator of the service. */
export function detailsOf(error: unknown): string[] {
  if (error instanceof ApiError) {
    const { status, type, code, requestId, details } = error;
    return [
      `  request id: ${requestId ?? 'none'}`,
      `  answer: ${status} ${type}${code === null ? '' : ` ${code}`}`,
      ...(Object.keys(details).length > 0 ? [`  details: ${JSON.stringify(details)}`] : []),
    ];
  }
  if (error instanceof CliError && error.cause) return detailsOf(error.cause);
  if (error instanceof CliError || !(error instanceof Error)) return [];
  const stack = [error.stack ?? error.message, ...(error.cause instanceof Error ? [String(error.cause)] : [])];
  return stack.map((line) => `  ${line}`);
}

function adviceFor(error: ApiError): string {
  const said = sentence(error.message);
  switch (error.type) {
    case 'AuthenticationError':
      return 'The service does not accept this key and secret. They may be wrong, expired or revoked. Sign in again: vnotes login';
    case 'PermissionError':
      return typeof error.details.required_scope === 'string'
        ? `This key lacks the scope ${error.details.required_scope}. Use a key that has it, or make one with: vnotes keys create`
        : said;
    case 'RateLimitError':
      return `${said}${error.retryAfter === null ? '' : ` Try again in ${count(error.retryAfter, 'second')}.`}`;
    case 'QuotaExceededError':
      return `${said} See: vnotes usage`;
    case 'UnknownError':
      return `${said} It may not be the service that answers there. Check the URL.`;
    default:
      return error.status >= 500 ? `${said} Try again later.` : said;
  }
}

function exitCodeOf(error: ApiError): ExitCode {
  const known = BY_TYPE[error.type];
  if (known !== undefined) return known;
  return error.status >= 500 ? EXIT.unavailable : EXIT.failure;
}

/** The platform's code, such as ECONNREFUSED, or its words: fetch hides them in its cause. */
function causeOf(error: Error): string | null {
  let words: string | null = null;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string') return cause.code;
    words = cause.message;
  }
  return words;
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
