/**
 * The next migration.
 * @param {string} name in kebab-case
 * @param {string[]} existing files in the folder of migrations
 * @param {Date} now
 * @returns {{ file: string, className: string, text: string }}
 */
export function migrationOf(name, existing, now) {
  const numbers = existing.map((file) => Number(/^(\d{4})-.*\.ts$/.exec(file)?.[1] ?? 0));
  const next = Math.max(0, ...numbers) + 1;
  const number = String(next).padStart(4, '0');
  // TypeORM orders migrations by the thirteen digits at the end of the class name.
  const className = `${name.split('-').map(capitalise).join('')}${now.getTime()}`;
  return { file: `${number}-${name}.ts`, className, text: template(className) };
}

/** The list's text with one more class. @throws Error when the list does not look as expected */
export function addToList(list, file, className) {
  const lastImport = [...list.matchAll(/^import .* from '\.\/\d{4}-.*';\n/gm)].at(-1);
  const entries = /const CORE: Migration\[\] = \[([^\]]*?),?\s*\];/.exec(list);
  if (!lastImport || !entries)
    throw new Error('src/migrations/migrations.ts has no list `CORE`: add the class by hand.');
  const names = [...entries[1].split(',').map((entry) => entry.trim()), className];
  const oneLine = `const CORE: Migration[] = [${names.join(', ')}];`;
  const lines = `const CORE: Migration[] = [\n${names.map((entry) => `  ${entry},\n`).join('')}];`;
  const end = lastImport.index + lastImport[0].length;
  const imported = `${list.slice(0, end)}import { ${className} } from './${file.replace(/\.ts$/, '.js')}';\n${list.slice(end)}`;
  return imported.replace(entries[0], oneLine.length <= 120 ? oneLine : lines);
}

function template(className) {
  return `import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Runs while the release before serves: docs/decisions/0023-migrations-while-the-old-release-serves.md. */
export class ${className} implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(\`\`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(\`\`);
  }
}
`;
}

const capitalise = (word) => word[0].toUpperCase() + word.slice(1);
