import { ERRORS } from '../http/expect-errors.js';
import {
  type DescribedOperation,
  idParameters,
  isChosenText,
  isSigned,
  type Parameter,
  type Schema,
  violations,
} from './description.js';
import { type Form, type JsonText, type Plan, REFUSED_NAMES } from './plan.js';
import type { WireRequest } from './request-builder.js';

/** What a plan breaks, judged by the document alone and not by how the plan was made. */
export interface Flaws {
  /** Empty: the request is as documented, and may still break a rule that no schema can state. */
  reasons: string[];
  /** The only right answers to it; null: any 4xx. */
  statuses: number[] | null;
}

/** In the order of D14: credentials, then the scope, then everything else. */
export function flawsOf(operation: DescribedOperation, plan: Plan): Flaws {
  const { credentials } = plan;
  if (isSigned(operation)) return inputFlaws(operation, plan);
  if (credentials === 'none' || credentials === 'wrong secret') {
    return { reasons: [`credentials: ${credentials}`], statuses: [401] };
  }
  if (credentials === 'all scopes but the one needed' || (credentials === 'token' && !operation.takesToken)) {
    return { reasons: [`credentials: ${credentials}`], statuses: [403] };
  }
  return inputFlaws(operation, plan);
}

function inputFlaws(operation: DescribedOperation, plan: Plan): Flaws {
  const input = [
    ...queryFlaws(operation, plan),
    ...headerFlaws(operation, plan),
    ...bodyFlaws(operation, plan),
    ...textIdFlaws(operation, plan),
  ];
  const texts = new Set(
    idParameters(operation)
      .filter(isChosenText)
      .map(({ name }) => name),
  );
  const ids = Object.entries(plan.ids).filter(([name, { kind }]) => kind !== 'own' && !texts.has(name));
  if (ids.length === 0) return { reasons: input, statuses: null };
  const malformed = ids.some(([, id]) => id.kind === 'nonsense' && !isDecodable(id.encoded));
  // A signature is for one recording, and says nothing of others.
  const unknown = isSigned(operation) ? 401 : 404;
  const statuses = input.length > 0 ? null : malformed ? [400, unknown] : [unknown];
  return { reasons: [...ids.map(([name, { kind }]) => `${name}: ${kind}`), ...input], statuses };
}

function textIdFlaws(operation: DescribedOperation, { ids }: Plan): string[] {
  return idParameters(operation)
    .filter(isChosenText)
    .flatMap((parameter) => {
      const id = ids[parameter.name];
      if (id?.kind !== 'nonsense') return [];
      return isDecodable(id.encoded)
        ? textFlaws(parameter, decodeURIComponent(id.encoded))
        : [`path: ${parameter.name} is malformed`];
    });
}

function isDecodable(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}

function queryFlaws({ parameters }: DescribedOperation, { query }: Plan): string[] {
  const known = parameters.filter((parameter) => parameter.in === 'query');
  const names = query.map(([name]) => name);
  return [
    ...query
      .filter(([name]) => !known.some((parameter) => parameter.name === name))
      .map(([name]) => `query: ${JSON.stringify(name)} is not documented`),
    ...known.flatMap((parameter) => {
      const times = names.filter((name) => name === parameter.name).length;
      if (times > 1) return [`query: ${parameter.name} comes ${times} times`];
      if (times === 0) return parameter.required ? [`query: ${parameter.name} is missing`] : [];
      const [, text = ''] = query.find(([name]) => name === parameter.name) ?? [];
      return textFlaws(parameter, text);
    }),
  ];
}

function headerFlaws({ parameters }: DescribedOperation, { headers }: Plan): string[] {
  return parameters
    .filter((parameter) => parameter.in === 'header')
    .flatMap((parameter) => {
      const text = headers[parameter.name];
      if (text === undefined) return parameter.required ? [`header: ${parameter.name} is missing`] : [];
      // White space around a header's value is no part of it (RFC 9110 §5.5).
      return textFlaws(parameter, text.replaceAll(/^[ \t]+|[ \t]+$/g, ''));
    });
}

/** A parameter is text on the wire, also where it is a number. */
function textFlaws({ in: place, name, schema }: Parameter, text: string): string[] {
  const value = valueOfText(schema, text);
  return violations(schema, value).map((violation) => `${place}: ${name}=${JSON.stringify(text)}: ${violation}`);
}

function valueOfText({ type }: Schema, text: string): unknown {
  if (type === 'integer') return /^-?\d+$/.test(text) ? Number(text) : text;
  if (type === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (type === 'boolean') return { true: true, false: false }[text] ?? text;
  return text;
}

function bodyFlaws({ body: described }: DescribedOperation, { body }: Plan): string[] {
  if (!described) return [];
  if (!body) return ['body: it is missing'];
  return body.kind === 'json' ? jsonFlaws(described.schema, body) : formFlaws(described.schema, body);
}

function jsonFlaws(schema: Schema, { text, contentType }: JsonText): string[] {
  const wrongType = contentType?.split(';')[0] !== 'application/json' ? [`body: of type ${String(contentType)}`] : [];
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [...wrongType, 'body: it is no JSON'];
  }
  return [...wrongType, ...violations(schema, value).map((violation) => `body: ${violation}`)];
}

function formFlaws(
  { properties = {}, required = [], additionalProperties }: Schema,
  { parts, complete, contentType }: Form,
): string[] {
  const names = parts.map(({ name }) => name);
  const isSingle = (name: string): boolean => Object.hasOwn(properties, name) && properties[name]?.type !== 'array';
  const isBinary = (name: string): boolean => properties[name]?.format === 'binary';
  return [
    ...(complete ? [] : ['form: it breaks off']),
    ...(contentType === 'form' ? [] : [`form: of type ${contentType}`]),
    ...required.filter((name) => !names.includes(name)).map((name) => `form: ${name} is missing`),
    ...names
      .filter((name, index) => isSingle(name) && names.indexOf(name) !== index)
      .map((name) => `form: ${name} comes twice`),
    ...parts.flatMap(({ name, filename, content }) => {
      if (!Object.hasOwn(properties, name)) {
        // A file has one place.
        const isTaken = additionalProperties === true && filename === undefined;
        return isTaken ? [] : [`form: ${JSON.stringify(name)} is not documented`];
      }
      if (isBinary(name) && filename === undefined) return [`form: ${name} is no file`];
      if (isBinary(name)) return REFUSED_NAMES.includes(content) ? [`form: ${name} holds ${content}`] : [];
      if (filename !== undefined) return [`form: ${name} is a file`];
      const value = properties[name]?.type === 'array' ? content.split(',') : content;
      return violations(properties[name] as Schema, value).map((violation) => `form: ${name}: ${violation}`);
    }),
  ];
}

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
