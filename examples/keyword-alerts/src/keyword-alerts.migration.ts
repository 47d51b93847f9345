import type { MigrationInterface, QueryRunner } from 'typeorm';

export class CreateKeywordAlerts1795305600000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE keyword_alerts (
        id uuid CONSTRAINT keyword_alerts_pkey PRIMARY KEY,
        account_id uuid NOT NULL CONSTRAINT keyword_alerts_account_fkey REFERENCES accounts ON DELETE CASCADE,
        recording_id uuid NOT NULL CONSTRAINT keyword_alerts_recording_fkey REFERENCES recordings ON DELETE CASCADE,
        keyword text NOT NULL,
        said_at double precision NOT NULL,
        created_at timestamptz NOT NULL
      )`);
    await runner.query(
      'CREATE INDEX keyword_alerts_account_idx ON keyword_alerts (account_id, created_at DESC, id DESC)',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE keyword_alerts');
  }
}
