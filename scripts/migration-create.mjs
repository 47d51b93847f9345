// `npm run migration:create -- name`: writes the next migration of the core and adds it to the list of migrations.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

import { addToList, migrationOf } from './lib/migration-template.mjs';
import { ROOT } from './lib/paths.mjs';

const FOLDER = join(ROOT, 'src', 'migrations');
const LIST = join(FOLDER, 'migrations.ts');

const [name, ...others] = process.argv.slice(2);
if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name ?? '') || others.length > 0) {
  console.error('usage: npm run migration:create -- name-in-kebab-case');
  process.exit(1);
}

const { file, text, className } = migrationOf(name, readdirSync(FOLDER), new Date());
const list = addToList(readFileSync(LIST, 'utf8'), file, className);
writeFileSync(join(FOLDER, file), text, { flag: 'wx' });
writeFileSync(LIST, list);
console.log(`Created ${relative(ROOT, join(FOLDER, file))} and added ${className} to ${relative(ROOT, LIST)}.`);
