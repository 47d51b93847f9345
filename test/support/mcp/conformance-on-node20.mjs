// For `node --import`: the conformance suite imports a function of `fs` that Node 20 does not have, for a command that
// the tests do not run.
import { register } from 'node:module';

const FS = `data:text/javascript,export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = null;`;
const HOOKS = `
export async function resolve(specifier, context, next) {
  const isSuite = specifier === 'fs' && context.parentURL?.includes('@modelcontextprotocol/conformance/');
  return isSuite ? { url: ${JSON.stringify(FS)}, shortCircuit: true } : await next(specifier, context);
}`;

register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
