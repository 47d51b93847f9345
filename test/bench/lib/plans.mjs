import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DATA } from '../../../scripts/lib/paths.mjs';

/**
 * Runs statements and writes how Postgres carried them out to a file in `.data/bench`.
 * @param {[what: string, statement: { sql: string, parameters: unknown[] }][]} statements
 * @returns {Promise<string[]>} the plans
 */
export async function writePlans(stage, name, statements) {
  const plans = [];
  for (const [, { sql, parameters }] of statements) {
    const rows = await stage.sql(`EXPLAIN (ANALYZE, BUFFERS) ${sql}`, parameters);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
  }
  const folder = join(DATA, 'bench');
  mkdirSync(folder, { recursive: true });
  const texts = statements.map(([what, { sql }], i) => `-- ${what}\n${sql}\n\n${plans[i]}\n`);
  writeFileSync(join(folder, name), texts.join('\n'));
  return plans;
}
