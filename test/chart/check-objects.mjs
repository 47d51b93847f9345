// Checks objects of Kubernetes against the validators that kubernetes-models has compiled with ajv from the API's own
// schemas, strictly. A process of its own, because these modules are ES modules for Node only.
//   node check-objects.mjs NODE_MODULES < objects.json   prints a list of problems as JSON
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const PACKAGES = {
  'keda.sh': '@kubernetes-models/keda',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
};

/** The compiled validator of a kind, which is named in the module of its model. */
async function validatorOf({ apiVersion, kind }) {
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0] : '';
  const root = join(folder, PACKAGES[group] ?? 'kubernetes-models');
  const [, schema] = /_schemas\/(\w+)\.js/.exec(readFileSync(join(root, apiVersion, `${kind}.js`), 'utf8'));
  return (await import(pathToFileURL(join(root, '_schemas', `${schema}.js`)).href)).validate;
}

/** A view of a value that notes which of its fields are read: a validator reads all that it knows, and no others. */
function watch(value, path, unread) {
  if (value === null || typeof value !== 'object') return value;
  for (const key of Object.keys(value)) unread.add(`${path}/${key}`);
  const views = new Map();
  return new Proxy(value, {
    get(target, key) {
      const found = Reflect.get(target, key);
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return found;
      unread.delete(`${path}/${key}`);
      if (!views.has(key)) views.set(key, watch(found, `${path}/${key}`, unread));
      return views.get(key);
    },
  });
}

const problems = [];
for (const object of JSON.parse(await text(process.stdin))) {
  const name = `${object.kind} ${object.metadata.name}`;
  const validate = await validatorOf(object);
  const unread = new Set();
  if (!validate(watch(object, '', unread))) {
    for (const { instancePath, message, keyword, params } of validate.errors) {
      problems.push(`${name}${instancePath}: ${message ?? `${keyword} ${JSON.stringify(params)}`}`);
    }
  }
  for (const path of unread) problems.push(`${name}${path}: unknown field`);
}
process.stdout.write(JSON.stringify(problems));
