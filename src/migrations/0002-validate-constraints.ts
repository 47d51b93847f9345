import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Release 0.1.0 added them without reading the rows that were there, whose values are within them. */
const CONSTRAINTS = [
  { table: 'events', constraint: 'events_recording_check' },
  { table: 'recordings', constraint: 'recordings_format_check' },
  { table: 'transcriptions', constraint: 'transcriptions_correction_check' },
];

export class ValidateConstraints1795500000000 implements MigrationInterface {
  transaction = false;

  async up(runner: QueryRunner): Promise<void> {
    for (const { table, constraint } of CONSTRAINTS) {
      await runner.query(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${constraint}`);
    }
  }

  async down(): Promise<void> {}
}
