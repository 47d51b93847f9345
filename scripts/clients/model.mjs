// What generators of clients need of openapi.json: types with names, and operations.

/**
 * @typedef {{ kind: 'string' | 'integer' | 'number' | 'boolean' | 'bytes' | 'any', values?: string[], isNull?: boolean }
 *   | { kind: 'list' | 'map', of: Type, isNull?: boolean } | { kind: 'ref', name: string, isNull?: boolean }} Type
 * @typedef {{ name: string, type: Type, isRequired: boolean, description?: string }} Field
 * @typedef {{ name: string, description?: string } & ({ fields: Field[] } | { tag: string, members: Map<string, string> }
 *   | { alias: Type })} NamedType `members`: the name of a type by the value of the tag
 * @typedef {{ name: string, method: string, path: string, summary: string, pathFields: Field[], query: Field[],
 *   headers: Field[], form: Field[] | null, body: Type | null, answer: 'none' | 'bytes' | Type }} Operation
 */

/** @returns {{ types: NamedType[], operations: Operation[] }} */
export function clientModel(document) {
  const types = new Map();
  const reader = new SchemaReader(types);
  for (const [name, schema] of Object.entries(document.components.schemas)) reader.add(name, schema);
  const bodies = Object.entries(document.webhooks).map(([kind, { post }]) => [
    kind,
    nameOf(post.requestBody.content['application/json'].schema),
  ]);
  types.set('WebhookBody', {
    name: 'WebhookBody',
    description: 'What a webhook receives.',
    tag: 'event',
    members: new Map(bodies),
  });
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      // A WebSocket is no method of a client over HTTP.
      .filter(([, { responses }]) => !responses['101'])
      .map(([method, operation]) => operationOf(method, path, operation, reader)),
  );
  return { types: [...types.values()], operations };
}

function operationOf(method, path, operation, reader) {
  const { operationId, summary, parameters = [], requestBody, responses } = operation;
  const name = camel(operationId);
  const fieldsIn = (place) =>
    parameters
      // An object in a query has as many names as keys, which no method can name.
      .filter((parameter) => parameter.in === place && parameter.schema.type !== 'object')
      .map(({ name: field, schema, required = false, description }) => ({
        name: field,
        type: reader.type(schema, pascal(name, field)),
        isRequired: required,
        description,
      }));
  const content = requestBody?.content ?? {};
  const form = content['multipart/form-data']?.schema;
  const json = content['application/json']?.schema;
  return {
    name,
    method: method.toUpperCase(),
    path,
    summary,
    pathFields: fieldsIn('path'),
    query: fieldsIn('query'),
    headers: fieldsIn('header'),
    form: form ? reader.fields(form, pascal(name, 'form')) : null,
    body: json ? reader.type(json, pascal(name, 'body')) : null,
    answer: answerOf(responses, (schema) => reader.type(schema, pascal(name, 'answer'))),
  };
}

function answerOf(responses, read) {
  const contents = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => content ?? {});
  const json = contents.find((content) => content['application/json']);
  if (json) return read(json['application/json'].schema);
  return contents.some((content) => Object.keys(content).length > 0) ? 'bytes' : 'none';
}

/** Gives objects inside of others a name of their own. */
class SchemaReader {
  constructor(types) {
    this.types = types;
  }

  add(name, schema) {
    const { description, oneOf, discriminator } = schema;
    if (discriminator) {
      const members = new Map(
        Object.entries(discriminator.mapping).map(([value, path]) => [value, nameOf({ $ref: path })]),
      );
      this.types.set(name, { name, description, tag: discriminator.propertyName, members });
    } else if (schema.properties || oneOf?.every(({ type }) => type === 'object')) {
      // Before its fields, so that types are in the order of the document.
      const type = { name, description, fields: [] };
      this.types.set(name, type);
      type.fields = this.fields(schema, name);
    } else {
      this.types.set(name, { name, description, alias: this.type(schema, `${name}Value`) });
    }
  }

  /** Of an object, or of several of which one is sent: then what all of them require is required. */
  fields({ properties = {}, required = [], oneOf = [] }, owner) {
    const ways = oneOf.map((way) => way.required ?? []);
    const inAll = ways.length > 0 ? ways[0].filter((name) => ways.every((way) => way.includes(name))) : [];
    const all = Object.assign({}, properties, ...oneOf.map((way) => way.properties));
    return Object.entries(all).map(([name, schema]) => ({
      name,
      type: this.type(schema, pascal(owner, name)),
      isRequired: required.includes(name) || inAll.includes(name),
      description: schema.description,
    }));
  }

  type(schema, name) {
    const { $ref, type, oneOf, allOf, enum: values, items, properties, additionalProperties, format } = schema;
    if ($ref) return { kind: 'ref', name: nameOf(schema) };
    if (allOf?.length === 1) return this.type(allOf[0], name);
    if (oneOf) return this.choice(schema, name);
    const isNull = Array.isArray(type) && type.includes('null');
    const kind = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
    if (kind === 'array') return { kind: 'list', of: this.type(items ?? {}, `${name}Item`), isNull };
    if (properties) {
      this.add(name, { ...schema, type: 'object' });
      return { kind: 'ref', name, isNull };
    }
    if (kind === 'object') {
      const inner =
        typeof additionalProperties === 'object' ? this.type(additionalProperties, `${name}Value`) : { kind: 'any' };
      return { kind: 'map', of: inner, isNull };
    }
    if (kind === 'string' && format === 'binary') return { kind: 'bytes' };
    if (!['string', 'integer', 'number', 'boolean'].includes(kind)) return { kind: 'any' };
    const texts = kind === 'string' ? values?.filter((value) => value !== null) : undefined;
    return { kind, values: texts, isNull };
  }

  /** Something or null; a choice between other things is any value. */
  choice({ oneOf }, name) {
    const rest = oneOf.filter(({ type }) => type !== 'null');
    return rest.length === 1 ? { ...this.type(rest[0], name), isNull: true } : { kind: 'any' };
  }
}

const nameOf = ({ $ref }) => $ref.split('/').at(-1);
const wordsOf = (text) => text.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).filter(Boolean);
const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

/** `RecordingsList` for `recordings.list`. */
export const pascal = (...parts) => parts.flatMap(wordsOf).map(capital).join('');
/** `recordingsList` for `recordings.list`. */
export const camel = (text) => {
  const name = pascal(text);
  return name.charAt(0).toLowerCase() + name.slice(1);
};
/** `recordings_list` for `recordings.list`. */
export const snake = (text) => wordsOf(text).join('_').toLowerCase();
/** The first line of a description. */
export const firstLine = (text = '') => text.replaceAll(/\s+/g, ' ').trim();
