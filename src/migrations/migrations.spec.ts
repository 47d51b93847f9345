import { createHash } from 'node:crypto';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { migrationProblems } from '../testing/migration-rules.js';
import { migrationsOf } from './migrations.js';

const [FIRST, ...LATER] = migrationsOf([]);

const migrationOf = (statements: string[], transaction?: boolean) =>
  class implements MigrationInterface {
    transaction = transaction;

    async up(runner: QueryRunner): Promise<void> {
      for (const statement of statements) await runner.query(statement);
    }

    async down(): Promise<void> {}
  };

describe('migrations', () => {
  it('the first is never changed, because databases that have it would not get the change', async () => {
    const hash = createHash('sha256');
    const query = async (sql: string) => void hash.update(sql.replaceAll(/\s+/g, ' '));
    await new FIRST!().up({ query } as unknown as QueryRunner);
    expect(hash.digest('hex')).toBe('f241731e5dbe9fb5c132f28d28111f2d38d0b1aa5655174ca08275646aa9aca1');
  });

  it.each(LATER.map((migration) => [migration.name, migration] as const))(
    '%s keeps the rules',
    async (_, migration) => {
      expect(await migrationProblems(migration)).toEqual([]);
    },
  );

  it.each([
    ['renames', ['ALTER TABLE recordings RENAME TO notes']],
    ['renames', ['ALTER TABLE recordings RENAME COLUMN run TO round']],
    ['removes', ['ALTER TABLE recordings DROP COLUMN run']],
    ['removes', ['DROP TABLE waveforms']],
    ['builds an index', ['CREATE INDEX recordings_x_idx ON recordings (run)']],
    ['builds an index', ['DROP INDEX recordings_queue_idx']],
    ['rewrites', ['ALTER TABLE recordings ALTER COLUMN run TYPE bigint']],
    ['rewrites', ['ALTER TABLE recordings ADD COLUMN x uuid DEFAULT gen_random_uuid()']],
    ['rewrites', ['ALTER TABLE recordings ADD COLUMN x int, ADD COLUMN y int GENERATED ALWAYS AS (run + 1) STORED']],
    ['adds a column', ['ALTER TABLE recordings ADD COLUMN x integer NOT NULL']],
    ['reads the whole table while', ['ALTER TABLE recordings ADD CONSTRAINT x CHECK (run > 0)']],
    ['reads the whole table while', ['ALTER TABLE recordings ADD COLUMN x uuid REFERENCES accounts']],
    ['reads the whole table while', ['ALTER TABLE recordings ADD CONSTRAINT x UNIQUE (object_key)']],
    ['reads the whole table: validate', ['ALTER TABLE recordings ALTER user_id SET NOT NULL']],
    ['changes all rows', [`UPDATE recordings SET run = 1`]],
    ['changes all rows', ['INSERT INTO waveforms SELECT id, 1, NULL FROM recordings']],
    [
      'takes long',
      [
        'ALTER TABLE events ADD COLUMN x text',
        `WITH b AS (SELECT id FROM events LIMIT 9) UPDATE events SET user_id = '' FROM b WHERE b.id = events.id`,
      ],
    ],
    ['takes long', ['ALTER TABLE events ADD COLUMN x text', 'ALTER TABLE events VALIDATE CONSTRAINT y']],
    ['keeps a table locked', ['ALTER TABLE events ADD COLUMN x text', 'ALTER TABLE recordings ADD COLUMN x text']],
    ['waits for a lock', ['ALTER TABLE events ADD COLUMN x text'], false],
  ])(
    'a migration that %s is refused: %j',
    async (...[problem, statements, transaction]: [string, string[], boolean?]) => {
      const problems = await migrationProblems(migrationOf(statements, transaction));
      expect(problems).toEqual(expect.arrayContaining([expect.stringContaining(problem)]));
    },
  );

  it.each([
    [
      [
        'CREATE TABLE x (id uuid PRIMARY KEY REFERENCES recordings)',
        'CREATE INDEX x_idx ON x (id)',
        'ALTER TABLE x SET (fillfactor = 50)',
      ],
    ],
    [[`ALTER TABLE recordings ADD COLUMN x text, ADD COLUMN y integer NOT NULL DEFAULT 0`]],
    [['ALTER TABLE recordings ADD CONSTRAINT x CHECK (user_id IS NOT NULL) NOT VALID']],
    [['ALTER TABLE recordings ALTER user_id SET NOT NULL', 'ALTER TABLE recordings DROP CONSTRAINT x']],
    [[`INSERT INTO required_migrations (name) VALUES ('X')`, 'ALTER TABLE recordings DROP COLUMN run']],
    [
      [
        'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE x SET a = 1; END $$',
        'CREATE TRIGGER f AFTER INSERT ON recordings FOR EACH ROW EXECUTE FUNCTION f()',
      ],
    ],
    [
      [
        'CREATE INDEX CONCURRENTLY x ON recordings (run)',
        'ALTER TABLE recordings VALIDATE CONSTRAINT x',
        'WITH b AS (SELECT id FROM events LIMIT 9), c AS (UPDATE events e SET run = 1 FROM b WHERE b.id = e.id) SELECT 1',
      ],
      false,
    ],
  ])('%j keeps the rules', async (...[statements, transaction]: [string[], boolean?]) => {
    expect(await migrationProblems(migrationOf(statements, transaction))).toEqual([]);
  });
});
