// Reads what `npm sbom` says of the whole lock file, and writes what of it is installed in FOLDER. `--omit=dev` of npm 11 also
// omits what another workspace has for development, such as express and pg.
//   npm sbom … | node packages-sbom.mjs FOLDER
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';

/** The packages of a `node_modules`, with those of packages in it, as `name@version`. */
function* packagesIn(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const { name } = entry;
    const path = join(folder, name);
    // Workspaces are links.
    if (!entry.isDirectory()) continue;
    if (name.startsWith('@')) yield* packagesIn(path);
    else if (existsSync(join(path, 'package.json'))) {
      const own = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
      yield [`${own.name}@${own.version}`, own];
      if (existsSync(join(path, 'node_modules'))) yield* packagesIn(join(path, 'node_modules'));
    }
  }
}

const installed = new Map(packagesIn(join(process.argv[2], 'node_modules')));
const bom = await json(process.stdin);
const known = new Map(bom.components.map((component) => [component.purl, component]));
const purlOf = (name) => `pkg:npm/${name.replace(/^@/, '%40')}`;
const unnamed = [...installed.keys()].filter((name) => !known.has(purlOf(name)));
if (unnamed.length > 0) throw new Error(`not in the lock file: ${unnamed.join(', ')}`);

bom.components = [...installed].map(([name, { licenses }]) => {
  const component = known.get(purlOf(name));
  // The old form of the field, which npm does not read.
  const old = (licenses ?? []).map(({ type }) => ({ license: { id: type } }));
  return { ...component, licenses: component.licenses ?? old, scope: 'required' };
});
const unlicensed = bom.components.filter(({ licenses }) => licenses.length === 0).map(({ purl }) => purl);
if (unlicensed.length > 0) throw new Error(`without a licence: ${unlicensed.join(', ')}`);
const references = new Set([bom.metadata.component, ...bom.components].map((component) => component['bom-ref']));
bom.dependencies = bom.dependencies
  .filter(({ ref }) => references.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((to) => references.has(to)) }));
console.log(JSON.stringify(bom));
