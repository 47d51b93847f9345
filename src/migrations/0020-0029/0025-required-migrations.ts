import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Migrations that a process must know, because a later one has removed what releases before them use. A process
 * tolerates all other migrations of newer releases.
 */
export class RequiredMigrations1765756800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE required_migrations (name text CONSTRAINT required_migrations_pkey PRIMARY KEY)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE required_migrations');
  }
}
