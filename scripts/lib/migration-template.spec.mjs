import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { addToList, migrationOf } from './migration-template.mjs';
import { ROOT } from './paths.mjs';

describe('npm run migration:create', () => {
  const now = new Date('2026-11-22T10:00:00Z');

  test('names file and class after the next number, the name and the time', () => {
    const { file, className, text } = migrationOf(
      'recording-rating',
      ['0001-initial-schema.ts', '0009-other.ts', 'migrations.ts'],
      now,
    );
    expect([file, className]).toEqual(['0010-recording-rating.ts', `RecordingRating${now.getTime()}`]);
    expect(text).toContain(`export class ${className} implements MigrationInterface`);
  });

  test('adds the class to the end of the list that is there, again and again', () => {
    let list = readFileSync(join(ROOT, 'src', 'migrations', 'migrations.ts'), 'utf8');
    for (const number of ['8001', '8002', '8003']) list = addToList(list, `${number}-x.ts`, `X${number}`);

    expect(list).toContain("import { X8003 } from './8003-x.js';\n");
    expect(list.replaceAll(/\s+/g, ' ')).toMatch(
      /const CORE: Migration\[\] = \[ ?InitialSchema\d+, .*X8001, X8002, X8003,? ?\];/,
    );
  });

  test('refuses a list that it does not know', () => {
    expect(() => addToList('export const all = [];', '0003-x.ts', 'X3')).toThrow('by hand');
  });
});
