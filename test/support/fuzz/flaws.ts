import {
  type DescribedOperation,
  idParameters,
  isChosenText,
  isSigned,
  type Parameter,
  type Schema,
} from './description.js';
import type { Form, JsonText, Plan } from './plan.js';
import { REFUSED_NAMES } from './samples.js';
import { violations } from './schema-check.js';

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
