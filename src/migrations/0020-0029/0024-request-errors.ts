import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const UP = [
  LOCK_TIMEOUT,
  // A row for each kind of error and day, whatever the number of requests. An empty field: the error names none.
  `CREATE TABLE request_errors (
     account_id uuid NOT NULL CONSTRAINT request_errors_account_fkey REFERENCES accounts ON DELETE CASCADE,
     day date NOT NULL,
     operation text NOT NULL,
     status integer NOT NULL,
     code text NOT NULL,
     field text NOT NULL,
     type text NOT NULL,
     count bigint NOT NULL,
     first_at timestamptz NOT NULL,
     last_at timestamptz NOT NULL,
     message text NOT NULL,
     request_ids text[] NOT NULL,
     CONSTRAINT request_errors_pkey PRIMARY KEY (account_id, day, operation, status, code, field)
   )`,
  // For the reconciler, which deletes the old ones.
  'CREATE INDEX request_errors_day_idx ON request_errors (day)',
];

/** What was refused to the requests of accounts, grouped. */
export class RequestErrors1765670400000 implements MigrationInterface {
  name = 'RequestErrors1765670400000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE request_errors');
  }
}
