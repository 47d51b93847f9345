import type { DescribedOperation, Schema } from './description.js';
import { ERRORS } from '../http/expect-errors.js';
import { violations } from './schema-check.js';
import type { WireRequest } from './wire.js';

export interface FuzzAnswer {
  status: number;
  /** Names in lower case. */
  headers: Record<string, string | string[] | undefined>;
  text: string;
  afterMs: number;
}

/** Nothing here takes long: an answer that does was hit by an input that costs too much. */
const LIMIT_MS = 5000;

const RATE_LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
/** A stack, a query or a path of this machine has no place in an answer. */
const INSIDES = /\n\s+at |node_modules|QueryFailedError|SELECT .* FROM|INSERT INTO/;

/** Node's parser counts the URL and the headers, and refuses more before the service has a request. */
const MAX_HEAD_BYTES = 8192;

/** @returns null unless the head of the request is too large to be read; else what is wrong with the answer to that. */
export function oversizeComplaints({ target }: WireRequest, { status, text }: FuzzAnswer): string[] | null {
  if (target.length <= MAX_HEAD_BYTES) return null;
  const { error } = (parsed(text) ?? {}) as { error?: { code?: unknown } };
  return status === 431 && error?.code === ERRORS.MalformedRequestError.code
    ? []
    : [`answered with ${status}, and 431 is right: the URL has ${target.length} bytes`];
}

/** @returns what an answer must not be, whatever the request was. */
export function complaints(operation: DescribedOperation, answer: FuzzAnswer): string[] {
  const { status, headers, text, afterMs } = answer;
  const found: string[] = [];
  if (status >= 500) found.push(`a defect of the service: ${status}`);
  if (status === 429) found.push('429: the run must not exhaust its limit, for it would test nothing else');
  if (afterMs > LIMIT_MS) found.push(`it took ${Math.round(afterMs)} ms`);
  if (INSIDES.test(text)) found.push('the body shows the insides of the service');
  if (operation.path.startsWith('/v1')) {
    for (const name of RATE_LIMIT_HEADERS) {
      if (!/^\d+$/.test(String(headers[name]))) found.push(`${name} is ${String(headers[name])}`);
    }
  }
  const described = operation.responses[status];
  if (!described) return [...found, `the status ${status} is not documented for this operation`];
  for (const [name, { schema, required }] of Object.entries(described.headers)) {
    const value = headers[name.toLowerCase()];
    if (value === undefined && !required) continue;
    const fits = schema.type === 'integer' ? /^\d+$/.test(String(value)) : typeof value === 'string';
    if (!fits) found.push(`the header ${name} is ${String(value)}, and not of type ${String(schema.type)}`);
  }
  // Their schema says all of errors in another shape.
  const ownErrors = described.content['application/json']?.schema.properties?.error?.properties?.param;
  const envelope = ownErrors ? [] : envelopeComplaints(answer);
  return [...found, ...bodyComplaints(described.content, answer), ...envelope];
}

function bodyComplaints(
  content: DescribedOperation['responses'][string]['content'],
  { headers, text, status }: FuzzAnswer,
): string[] {
  const entries = Object.entries(content);
  const type = headers['content-type'];
  if (entries.length === 0) {
    return [
      ...(text === '' ? [] : [`${status} is documented without a body`]),
      ...(type === undefined ? [] : [`${status} is documented without a body, and says ${String(type)}`]),
    ];
  }
  const entry = entries.find(([mediaType, { schema }]) => isOfType(String(type), mediaType, schema));
  if (!entry) return [`the content type is ${String(type)}, documented is ${Object.keys(content).join(' or ')}`];
  const [mediaType, { schema }] = entry;
  if (mediaType !== 'application/json') return [];
  const body = parsed(text);
  if (body === undefined) return [`the body is no JSON: ${text.slice(0, 200)}`];
  return violations(schema, body).map((violation) => `the body does not fit its schema: ${violation}`);
}

/** Text says how it is encoded; bytes are not. */
function isOfType(type: string, mediaType: string, { format }: Schema): boolean {
  if (mediaType.startsWith('multipart/')) return /^; boundary=[\w-]{1,70}$/.test(type.slice(mediaType.length));
  return type === (format === 'binary' ? mediaType : `${mediaType}; charset=utf-8`);
}

/** The table of errors is part of the interface: each type has its status and its code. */
function envelopeComplaints({ status, text }: FuzzAnswer): string[] {
  if (status < 400) return [];
  const body = parsed(text) as { success?: unknown; error?: { type?: string; code?: unknown; message?: unknown } };
  const { type = '', code, message } = body?.error ?? {};
  const row = ERRORS[type as keyof typeof ERRORS];
  const found: string[] = [];
  if (row?.status !== status) found.push(`an error of type ${type} is not a ${status}`);
  else if (row.code !== code && !(status === 404 && typeof code === 'string'))
    found.push(`${type} has code ${String(code)}`);
  if (typeof message !== 'string' || message.trim() === '') found.push('an error without a message');
  if ((body?.success !== undefined) !== (status === 429)) found.push('"success" belongs to 429, and to nothing else');
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
