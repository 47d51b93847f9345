import { AudioRejectedError, EngineError, EngineUnavailableError } from '../transcription-engine.js';
import type { NoResponseError, OpenAiResponse } from './openai.client.js';

/** Maximum length of a server's message in an error of ours. */
const MAX_MESSAGE_LENGTH = 200;

const CONNECTION_ERRORS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'unknown host name',
  EAI_AGAIN: 'host name lookup failed temporarily',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  EGRESS_PROXY_FAILED: 'the proxy of EGRESS_PROXY_URL failed',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'no response in time',
  UND_ERR_BODY_TIMEOUT: 'response not complete in time',
  RESPONSE_TOO_LONG: 'response too long',
};

/** Payment, permission, address, too many requests, and proxies without a server behind them. */
const REFUSALS_OF_ALL = new Set([402, 403, 404, 429, 502, 503, 504]);

const UNKNOWN_MODEL = /\b(?:invalid|unknown) model\b|\bmodel\b.*\b(?:not found|does not exist|invalid|unknown)\b/i;

/** Why no response came, for an operator. */
export function describeNoResponse({ code }: NoResponseError, address: string): string {
  const cause = CONNECTION_ERRORS[code] ?? `connection failed (${code})`;
  return `The transcription server ${address} (OPENAI_BASE_URL) cannot be used: ${cause}.`;
}

export function keyRefused(address: string, hasKey: boolean): string {
  const problem = hasKey ? 'refused the key: check OPENAI_API_KEY' : 'requires a key: set OPENAI_API_KEY';
  return `The transcription server ${address} ${problem}.`;
}

/** Whether the same request may soon succeed: the server is overloaded, restarting or broken. */
export function isTransient(response: OpenAiResponse): boolean {
  if (response.status === 429) return errorOf(response).code !== 'insufficient_quota';
  return response.status >= 500 || response.status === 408 || response.status === 425;
}

/** Whether the server may accept the same audio with fewer details: newer models do not support `verbose_json`. */
export function isTooDetailed(response: OpenAiResponse): boolean {
  const { param, message } = errorOf(response);
  return (
    [400, 415, 422].includes(response.status) && /format|json|granularit|include|logprob/i.test(`${param} ${message}`)
  );
}

/** Whether the server has no translations, or not with this model. */
export function offersNoTranslations(response: OpenAiResponse): boolean {
  return [404, 405, 501].includes(response.status) || (response.status === 400 && isAboutModel(response));
}

function isAboutModel(response: OpenAiResponse): boolean {
  const { code, param, message } = errorOf(response);
  return code === 'model_not_found' || param === 'model' || UNKNOWN_MODEL.test(message);
}

/** Whether the server may accept the same audio without a prompt. */
export function refusesPrompt(response: OpenAiResponse): boolean {
  const { param, message } = errorOf(response);
  return [400, 415, 422].includes(response.status) && /\bprompt\b/i.test(`${param} ${message}`);
}

/**
 * The error for a response without a transcript. AudioRejectedError only when the audio or the requested language is the
 * cause: a wrong key, address or model must not fail every recording for good.
 */
export function toEngineError(
  response: OpenAiResponse,
  address: string,
  apiKey: string | null,
): AudioRejectedError | EngineError {
  const { message } = errorOf(response);
  const detail = message && `: ${redacted(message, apiKey)}`;
  const aboutModel = isAboutModel(response);
  if (response.status === 401) return new EngineUnavailableError(keyRefused(address, apiKey !== null));
  if (response.status === 413)
    return new AudioRejectedError('The transcription server refused the audio as too large.');
  if ([400, 415, 422].includes(response.status) && !aboutModel) {
    // The server's own words may tell of the operator's network or account: they are for the log.
    return new AudioRejectedError('The transcription server refused the audio', { cause: redacted(message, apiKey) });
  }
  const hint = aboutModel || response.status === 404 ? ' (check OPENAI_BASE_URL and OPENAI_MODEL)' : '';
  const text = `The transcription server ${address} answered ${response.status}${hint}${detail}`;
  const forAll = aboutModel || REFUSALS_OF_ALL.has(response.status);
  return forAll ? new EngineUnavailableError(text) : new EngineError(text, false);
}

interface ServerError {
  code: string;
  param: string;
  message: string;
}

/** OpenAI's `{error: {message, code, param}}`, whisper.cpp's `{error: "…"}`, FastAPI's `{detail: …}`, or plain text. */
function errorOf({ json, text }: OpenAiResponse): ServerError {
  const outer = asRecord(json);
  const inner = asRecord(outer.error);
  const message = [inner.message, outer.error, outer.message, outer.detail, text]
    .map(asText)
    .find((item) => item !== '');
  const list = Array.isArray(outer.detail) ? JSON.stringify(outer.detail) : '';
  return { code: asText(inner.code), param: asText(inner.param) || asText(outer.param), message: message ?? list };
}

/** On one line, shortened, and without the key. */
function redacted(message: string, apiKey: string | null): string {
  const safe = apiKey === null ? message : message.replaceAll(apiKey, '…');
  const line = safe.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_MESSAGE_LENGTH ? `${line.slice(0, MAX_MESSAGE_LENGTH)}…` : line;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
