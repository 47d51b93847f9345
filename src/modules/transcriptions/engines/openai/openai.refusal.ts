import type { NoReply, ServerReply } from './openai.server.js';
import { AudioRejectedError, EngineError } from '../transcription-engine.js';

/** What is shown of a server's own words at most. */
const MAX_WORDS = 200;

const CONNECTION_FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its host name is not known',
  EAI_AGAIN: 'its host name cannot be looked up now',
  EHOSTUNREACH: 'its host cannot be reached',
  ENETUNREACH: 'its network cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'it does not take connections',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it did not finish its answer in time',
  ANSWER_TOO_LONG: 'its answer is too long',
};

const UNKNOWN_MODEL = /\b(?:invalid|unknown) model\b|\bmodel\b.*\b(?:not found|does not exist|invalid|unknown)\b/i;

/** Why no answer came, for an operator. */
export function describeNoReply({ code }: NoReply, address: string): string {
  const cause = CONNECTION_FAULTS[code] ?? `the connection failed (${code})`;
  return `The transcription server ${address} (OPENAI_BASE_URL) cannot be used: ${cause}.`;
}

export function keyRefused(address: string, hasKey: boolean): string {
  const mend = hasKey ? 'check OPENAI_API_KEY' : 'set OPENAI_API_KEY';
  return `The transcription server ${address} refused the key: ${mend}.`;
}

/** Whether the same request may do better in a moment: the server is overloaded, restarting or broken. */
export function isForNow(reply: ServerReply): boolean {
  if (reply.status === 429) return complaintOf(reply).code !== 'insufficient_quota';
  return reply.status >= 500 || reply.status === 408 || reply.status === 425;
}

/** Whether the server may take the same audio when less is asked of it: newer models write no `verbose_json`. */
export function asksTooMuch(reply: ServerReply): boolean {
  const { param, words } = complaintOf(reply);
  return [400, 415, 422].includes(reply.status) && /format|json|granularit|include|logprob/i.test(`${param} ${words}`);
}

/**
 * An answer that is no transcript as an error of the port. Only what is the audio's own fault, or that of the language
 * asked for, is for good: a wrong key, address or model would otherwise fail every note for ever.
 */
export function asError(reply: ServerReply, address: string, apiKey: string | null): AudioRejectedError | EngineError {
  const { code, param, words } = complaintOf(reply);
  const said = words && `: ${shown(words, apiKey)}`;
  const aboutModel = code === 'model_not_found' || param === 'model' || UNKNOWN_MODEL.test(words);
  if (reply.status === 401) return new EngineError(keyRefused(address, apiKey !== null), false);
  if (reply.status === 413) return new AudioRejectedError('The transcription server refused the audio as too large');
  if ([400, 415, 422].includes(reply.status) && !aboutModel) {
    return new AudioRejectedError(`The transcription server refused the audio${said}`);
  }
  const mend = aboutModel || reply.status === 404 ? ' (check OPENAI_BASE_URL and OPENAI_MODEL)' : '';
  return new EngineError(`The transcription server ${address} answered ${reply.status}${mend}${said}`, false);
}

interface Complaint {
  code: string;
  param: string;
  words: string;
}

/** OpenAI's `{error: {message, code, param}}`, whisper.cpp's `{error: "…"}`, FastAPI's `{detail: …}`, or plain text. */
function complaintOf({ json, text }: ServerReply): Complaint {
  const outer = asRecord(json);
  const inner = asRecord(outer.error);
  const words = [inner.message, outer.error, outer.message, outer.detail, text].map(asText).find((item) => item !== '');
  const detail = Array.isArray(outer.detail) ? JSON.stringify(outer.detail) : '';
  return { code: asText(inner.code), param: asText(inner.param) || asText(outer.param), words: words ?? detail };
}

/** In one line, of a length for a log, and surely without the key. */
function shown(words: string, apiKey: string | null): string {
  const safe = apiKey === null ? words : words.replaceAll(apiKey, '…');
  const line = safe.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}…` : line;
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
