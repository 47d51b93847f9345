// What of two descriptions of the API is different on the wire: names of schemas, prose and examples do not count, and
// `nullable` of OpenAPI 3.0 is the type null of 3.1.

/**
 * @typedef {{ types: Set<string>, values: Set<unknown> | null, fields: Map<string, { shape: Shape, isRequired: boolean }>,
 *   items: Shape | null, extra: Shape | null, limits: Record<string, unknown> }} Shape
 * @typedef {{ operation: string, name: string, what: string }} Break `name` is the field, parameter or status
 */

const PROSE = new Set(['description', 'summary', 'example', 'examples', 'tags', 'externalDocs']);

/** What scripts/released-api.json holds of a description: no prose. @param {string} text of openapi.json */
export function describedApi(text) {
  return `${JSON.stringify(JSON.parse(text, withoutProse))}\n`;
}

/** Fields of bodies may have these names, too: their value is a schema, and prose is not. */
function withoutProse(key, value) {
  const isProse = PROSE.has(key) && (typeof value === 'string' || key.startsWith('example') || key === 'tags');
  return isProse && !(typeof value === 'object' && value !== null && 'type' in value) ? undefined : value;
}

/** @returns {{ breaks: Break[], added: string[] }} `added` are the new operations */
export function apiChanges(before, after) {
  const known = operationsOf(before);
  const present = operationsOf(after);
  const breaks = [];
  for (const [operation, old] of known) {
    const add = (name, what) => breaks.push({ operation, name, what });
    if (present.has(operation)) compareOperation(old, present.get(operation), add);
    else add('', 'is gone');
  }
  return { breaks, added: [...present.keys()].filter((name) => !known.has(name) && / \//.test(name)) };
}

/**
 * What the change log does not say: each new operation, and each break under `### Breaking`, of what is not released.
 * @param {{ breaks: Break[], added: string[] }} changes @param {string} changelog @returns {string[]}
 */
export function missingInChangelog({ breaks, added }, changelog) {
  const unreleased = /^## \[Unreleased\]\n(.*?)(?=^## |(?![\s\S]))/ms.exec(changelog)?.[1] ?? '';
  const breaking = /^### Breaking\n(.*?)(?=^### |(?![\s\S]))/ms.exec(unreleased)?.[1] ?? '';
  const items = breaking.split(/^- /m).slice(1);
  const names = (text, operation) => spelt(text).includes(spelt(operation));
  return [
    ...added
      .filter((operation) => !names(unreleased, operation))
      .map((operation) => `CHANGELOG.md, Unreleased: name the new operation ${operation}`),
    ...breaks
      .filter(({ operation, name }) => !items.some((item) => names(item, operation) && item.includes(name)))
      .map(({ operation, name, what }) => {
        const place = name === '' ? operation : `${operation}: ${name}`;
        return `${place} ${what}, which breaks clients. Undo it, or list it in CHANGELOG.md, Unreleased, ### Breaking`;
      }),
  ];
}

/** Words with a space around each, and path parameters without their names. */
const spelt = (text) => ` ${text.replaceAll(/\{\w+\}/g, '{}').replaceAll(/[^\w/{}.-]+|[.](?=\s|$)/g, ' ')} `;

const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options'];

/** By `GET /v1/recordings`, and by `webhook recording.failed`. */
function operationsOf(document) {
  const found = new Map();
  const read = (prefix, items, pathOf) => {
    for (const [path, item] of Object.entries(items ?? {})) {
      for (const method of METHODS.filter((name) => item[name])) {
        found.set(pathOf(method, path), { isWebhook: prefix, document, ...item[method] });
      }
    }
  };
  read(false, document.paths, (method, path) => `${method.toUpperCase()} ${path}`);
  read(true, document.webhooks, (_method, kind) => `webhook ${kind}`);
  return found;
}

function compareOperation(old, now, add) {
  const documents = { old: old.document, now: now.document };
  if (old.isWebhook) {
    compareContents(old.requestBody?.content, now.requestBody?.content, documents, compareAnswer, add);
    return;
  }
  if (old['x-required-scope'] !== now['x-required-scope']) add('scope', 'is another one');
  compareParameters(old.parameters ?? [], now.parameters ?? [], documents, add);
  compareBodies(old.requestBody, now.requestBody, documents, add);
  for (const [status, response] of Object.entries(old.responses)) {
    const other = now.responses[status];
    // An error that cannot happen any more breaks nobody.
    if (!other && /^[23]/.test(status)) add(status, 'is not answered any more');
    if (!other) continue;
    for (const [name, header] of Object.entries(response.headers ?? {})) {
      if (header.required && !other.headers?.[name]?.required) add(name, `is not always sent with ${status}`);
    }
    compareContents(response.content, other.content, documents, compareAnswer, add);
  }
}

function compareParameters(old, now, documents, add) {
  const keyOf = (parameter) => `${parameter.in} ${parameter.name.toLowerCase()}`;
  // The name of a parameter in a path is not sent.
  const sent = (list) => new Map(list.filter((one) => one.in !== 'path').map((one) => [keyOf(one), one]));
  const [before, after] = [sent(old), sent(now)];
  for (const [key, parameter] of before) {
    const other = after.get(key);
    if (!other) add(parameter.name, 'is not taken any more');
    else
      compareRequest(
        shapeOf(parameter.schema, documents.old),
        shapeOf(other.schema, documents.now),
        parameter.name,
        add,
      );
  }
  for (const [key, { name, required }] of after)
    if (required && !before.get(key)?.required) add(name, 'is required now');
}

function compareBodies(old, now, documents, add) {
  if (!old && now?.required) add('body', 'is required now');
  if (!old) return;
  if (now?.required && !old.required) add('body', 'is required now');
  if (now) compareContents(old.content, now.content, documents, compareRequest, add);
  else add('body', 'is not taken any more');
}

function compareContents(old = {}, now = {}, documents, compare, add) {
  for (const [type, { schema }] of Object.entries(old)) {
    if (!now[type]) add(type, 'is no form of it any more');
    else compare(shapeOf(schema, documents.old), shapeOf(now[type].schema, documents.now), '', add);
  }
}

const inside = (place, name) => (place === '' ? name : `${place}.${name}`);
const label = (place) => (place === '' ? 'body' : place);

/** A client reads what it has read before: nothing is gone, and nothing has another type. */
function compareAnswer(old, now, place, add) {
  const other = [...now.types].filter((type) => !allows(old.types, type));
  if (other.length > 0) add(label(place), `can be ${other.join(' or ')}`);
  for (const value of old.values ?? []) {
    if (value !== null && now.values && !now.values.has(value))
      add(label(place), `is never ${JSON.stringify(value)} any more`);
  }
  for (const [name, field] of old.fields) {
    const present = now.fields.get(name);
    if (!present) add(inside(place, name), 'is gone');
    else if (field.isRequired && !present.isRequired) add(inside(place, name), 'is not always there');
    if (present) compareAnswer(field.shape, present.shape, inside(place, name), add);
  }
  compareInner(old, now, place, add, compareAnswer);
}

/** The service takes what it has taken before. */
function compareRequest(old, now, place, add) {
  const refused = [...old.types].filter((type) => !allows(now.types, type));
  if (refused.length > 0) add(label(place), `cannot be ${refused.join(' or ')} any more`);
  if (!old.values && now.values) add(label(place), 'takes certain values only');
  for (const value of old.values ?? []) {
    if (value !== null && now.values && !now.values.has(value))
      add(label(place), `cannot be ${JSON.stringify(value)} any more`);
  }
  for (const what of narrowed(old.limits, now.limits)) add(label(place), `has a narrower ${what}`);
  for (const [name, field] of old.fields) {
    const present = now.fields.get(name);
    if (present) compareRequest(field.shape, present.shape, inside(place, name), add);
    else add(inside(place, name), 'is not taken any more');
  }
  for (const [name, { isRequired }] of now.fields) {
    if (isRequired && !old.fields.get(name)?.isRequired) add(inside(place, name), 'is required now');
  }
  compareInner(old, now, place, add, compareRequest);
}

function compareInner(old, now, place, add, compare) {
  if (old.items && now.items) compare(old.items, now.items, `${place}[]`, add);
  if (old.extra && now.extra) compare(old.extra, now.extra, `${place}.*`, add);
}

const allows = (types, type) => types.has(type) || types.has('any') || (type === 'integer' && types.has('number'));

const HIGHEST = ['maximum', 'maxLength', 'maxItems', 'maxProperties'];
const LOWEST = ['minimum', 'minLength', 'minItems', 'minProperties'];

/** One pattern or format in the place of another may be wider or narrower; none before is wider. */
function narrowed(old, now) {
  return [
    ...HIGHEST.filter((limit) => (now[limit] ?? Infinity) < (old[limit] ?? Infinity)),
    ...LOWEST.filter(
      (limit) => (now[limit] ?? -Infinity) > Math.max(old[limit] ?? -Infinity, limit === 'minimum' ? -Infinity : 0),
    ),
    ...['pattern', 'format'].filter((limit) => old[limit] === undefined && now[limit] !== undefined),
  ];
}

/** @returns {Shape} */
function shapeOf(schema, document) {
  if (schema?.$ref) return shapeOf(referenced(schema.$ref, document), document);
  const { type, nullable, enum: values, allOf, oneOf, anyOf, properties = {}, required = [], items } = schema ?? {};
  const own = {
    types: typesOf(type, { properties, items, nullable }),
    values: values ? new Set(values) : null,
    fields: new Map(
      Object.entries(properties).map(([name, inner]) => [
        name,
        { shape: shapeOf(inner, document), isRequired: required.includes(name) },
      ]),
    ),
    items: items ? shapeOf(items, document) : null,
    extra: isObject(schema?.additionalProperties) ? shapeOf(schema.additionalProperties, document) : null,
    limits: Object.fromEntries([...HIGHEST, ...LOWEST, 'pattern', 'format'].map((limit) => [limit, schema?.[limit]])),
  };
  const parts = (allOf ?? []).map((part) => shapeOf(part, document));
  const choices = (oneOf ?? anyOf ?? []).map((part) => shapeOf(part, document));
  const whole = parts.reduce(joined, own);
  if (choices.length === 0) return orNull(whole, nullable);
  return orNull(joined(whole, choices.reduce(either)), nullable);
}

const isObject = (value) => typeof value === 'object' && value !== null;

function referenced(path, document) {
  return path
    .split('/')
    .slice(1)
    .reduce((value, key) => value[key], document);
}

function typesOf(type, { properties, items }) {
  if (type !== undefined) return new Set([type].flat());
  if (Object.keys(properties).length > 0) return new Set(['object']);
  return new Set([items ? 'array' : 'any']);
}

/** Of `nullable` and `enum`, the enumeration need not name null. */
function orNull(shape, nullable) {
  if (nullable !== true) return shape;
  return {
    ...shape,
    types: new Set([...shape.types, 'null']),
    values: shape.values && new Set([...shape.values, null]),
  };
}

/** Both hold. */
function joined(one, other) {
  return {
    types: one.types.has('any') ? other.types : one.types,
    values: one.values ?? other.values,
    fields: mergedFields(one, other, (a, b) => a || b, false),
    items: one.items ?? other.items,
    extra: one.extra ?? other.extra,
    limits: { ...other.limits, ...defined(one.limits) },
  };
}

/** One of the two holds: a field is required if both require it. */
function either(one, other) {
  const [isNull, isOtherNull] = [one, other].map(({ types }) => types.size === 1 && types.has('null'));
  return {
    types: new Set([...one.types, ...other.types]),
    values: one.values && other.values ? new Set([...one.values, ...other.values]) : null,
    fields: mergedFields(one, other, (a, b) => a && b, !isNull && !isOtherNull),
    items: one.items ?? other.items,
    extra: one.extra ?? other.extra,
    limits: {},
  };
}

/** @param isMissingOptional whether a field that only one of them has is optional */
function mergedFields(one, other, requires, isMissingOptional) {
  const fields = new Map();
  for (const name of new Set([...one.fields.keys(), ...other.fields.keys()])) {
    const [a, b] = [one.fields.get(name), other.fields.get(name)];
    const shape = a && b ? either(a.shape, b.shape) : (a ?? b).shape;
    const isRequired = a && b ? requires(a.isRequired, b.isRequired) : !isMissingOptional && (a ?? b).isRequired;
    fields.set(name, { shape, isRequired });
  }
  return fields;
}

const defined = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
