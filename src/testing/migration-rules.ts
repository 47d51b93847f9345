import type { QueryRunner } from 'typeorm';
import type { Migration } from '../platform/database/data-source.js';

interface Rule {
  problem: string;
  /** Of a statement in one line. The rules are about tables that were there before. */
  isBroken: (statement: string, all: string[]) => boolean;
}

const alters = (pattern: RegExp) => (statement: string) =>
  statement.startsWith('ALTER TABLE') && actionsOf(statement).some((action) => pattern.test(action));

const RULES: Rule[] = [
  {
    problem: 'renames what the release before uses: add, fill, and remove one release later',
    isBroken: (statement) => /\bRENAME\b/.test(statement),
  },
  {
    problem: 'removes what an earlier release may use: do so one release later, with requireMigration',
    isBroken: (statement, all) =>
      /\bDROP (TABLE|COLUMN|VIEW|SEQUENCE)\b/.test(statement) &&
      !all.some((other) => other.startsWith('INSERT INTO required_migrations')),
  },
  {
    problem: 'builds an index while nobody can write: createIndexConcurrently',
    isBroken: (statement) => /^(CREATE (UNIQUE )?|DROP |RE)INDEX (?!CONCURRENTLY)/.test(statement),
  },
  {
    problem: 'rewrites the table',
    isBroken: (statement) =>
      alters(/^ALTER (COLUMN )?\w+ (SET DATA )?TYPE\b|^SET (UN)?LOGGED|^SET (ACCESS METHOD|TABLESPACE)/)(statement) ||
      alters(/^ADD .*(\bSTORED\b|\bIDENTITY\b|\bserial\b|(random\w*|clock_timestamp|nextval)\()/i)(statement) ||
      /^(CLUSTER|VACUUM FULL|TRUNCATE|LOCK (?!TABLE \w+ IN SHARE UPDATE EXCLUSIVE MODE$))/.test(statement),
  },
  {
    problem: 'adds a column that the release before does not write: nullable, or with a default',
    isBroken: alters(/^ADD COLUMN (?=.*\bNOT NULL\b)(?!.*\bDEFAULT\b)/),
  },
  {
    problem:
      'reads the whole table while nobody can use it: NOT VALID or USING INDEX, and validate in a later migration',
    isBroken: alters(/^ADD (?=.*\b(CHECK|REFERENCES|UNIQUE|PRIMARY KEY|EXCLUDE)\b)(?!.*\b(NOT VALID|USING INDEX)\b)/),
  },
  {
    problem: 'reads the whole table: validate a CHECK before, and drop that CHECK after SET NOT NULL',
    isBroken: (statement, all) =>
      alters(/\bSET NOT NULL\b/)(statement) &&
      !all.some(
        (other) =>
          other.startsWith(`ALTER TABLE ${tableOf(other)} DROP CONSTRAINT`) && tableOf(other) === tableOf(statement),
      ),
  },
  {
    problem: 'changes all rows at once: changeInBatches',
    isBroken: (statement) => changesRows(statement) && !/\bLIMIT\b/.test(statement),
  },
];

/** Needs no lock that requests wait for. */
const isConcurrent = (statement: string): boolean => / CONCURRENTLY | VALIDATE CONSTRAINT /.test(statement);

const changesRows = (statement: string): boolean =>
  !/^(CREATE|LOCK) /.test(statement) && /\b(UPDATE \w+|DELETE FROM|INSERT INTO .*\bSELECT)\b/.test(statement);

const takesLock = (statement: string): boolean =>
  /^(ALTER TABLE|CREATE (OR REPLACE )?TRIGGER|DROP (TABLE|TRIGGER)) /.test(statement) && !isConcurrent(statement);

/**
 * What in a migration would make requests wait, or break the release that still runs (docs/decisions/0023). It runs
 * without a database.
 * @returns a line for each, empty when there is none.
 */
export async function migrationProblems(migration: Migration): Promise<string[]> {
  const { transactions, outside } = await statementsOf(new migration());
  const all = [...transactions.flat(), ...outside];
  const created = new Set(
    all.flatMap((statement) => /^CREATE TABLE (?:IF NOT EXISTS )?(\w+)/.exec(statement)?.[1] ?? []),
  );
  const isOld = (statement: string) => !created.has(tableOf(statement) ?? '');
  return [
    ...all
      .filter(isOld)
      .flatMap((statement) =>
        RULES.filter(({ isBroken }) => isBroken(statement, all)).map(({ problem }) => `${problem}: ${statement}`),
      ),
    ...transactions.map((statements) => statements.filter(isOld)).flatMap(transactionProblems),
    ...outside
      .filter((statement) => isOld(statement) && takesLock(statement))
      .map((statement) => `waits for a lock without a limit, outside a transaction: changeCatalog: ${statement}`),
  ];
}

function transactionProblems(statements: string[]): string[] {
  const tables = new Set(statements.filter(takesLock).map(tableOf));
  const slow = statements.filter((statement) => isConcurrent(statement) || changesRows(statement));
  return [
    ...(tables.size > 1 ? [`keeps a table locked while it waits for the next: ${[...tables].join(', ')}`] : []),
    ...(tables.size > 0 ? slow.map((statement) => `takes long while a table is locked: ${statement}`) : []),
  ];
}

/** The SQL that a migration sends, each statement in one line: in each of its transactions, and outside. */
async function statementsOf(
  migration: InstanceType<Migration> & { transaction?: boolean },
): Promise<{ transactions: string[][]; outside: string[] }> {
  const outside: string[] = [];
  const transactions: string[][] = [];
  let current = outside;
  const startTransaction = async () => void transactions.push((current = []));
  const endTransaction = async () => void (current = outside);
  const query = async (sql: string) => {
    // Every second part is the body of a function.
    const bare = sql.split('$$').filter((_, i) => i % 2 === 0);
    const lines = bare
      .join(' ')
      .split('\n')
      .map((line) => line.split('--')[0]);
    const statements = lines
      .join(' ')
      .split(';')
      .map((statement) => statement.replaceAll(/\s+/g, ' ').trim());
    current.push(...statements.filter(Boolean));
    return [];
  };
  if (migration.transaction !== false) await startTransaction();
  const runner = { query, startTransaction, commitTransaction: endTransaction, rollbackTransaction: endTransaction };
  await migration.up(runner as unknown as QueryRunner);
  return { transactions, outside };
}

/** The table that a statement changes. */
const tableOf = (statement: string): string | undefined =>
  /^(?:ALTER TABLE|CREATE TABLE|UPDATE|DELETE FROM|INSERT INTO|CREATE (?:UNIQUE )?INDEX .* ON|CREATE (?:OR REPLACE )?TRIGGER .*? ON|DROP TRIGGER .*? ON) (?:ONLY |IF (?:NOT )?EXISTS )*(\w+)/.exec(
    statement,
  )?.[1];

/** `ADD COLUMN a text` and `DROP COLUMN b` of an ALTER TABLE with both. A comma within parentheses separates nothing. */
function actionsOf(statement: string): string[] {
  const actions = statement.replace(/^ALTER TABLE (?:ONLY |IF EXISTS )*\w+ /, '');
  return actions.split(/, (?=(?:ADD|DROP|ALTER|SET|RESET|VALIDATE|RENAME)\b)/);
}
