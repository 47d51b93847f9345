import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const UP = [
  LOCK_TIMEOUT,
  // In a table of its own, because pages of recordings do not need it: one byte for each point, at most about 1 kB.
  `CREATE TABLE waveforms (
     recording_id uuid CONSTRAINT waveforms_pkey PRIMARY KEY
       CONSTRAINT waveforms_recording_fkey REFERENCES recordings ON DELETE CASCADE,
     duration_ms integer NOT NULL,
     peaks bytea NOT NULL
   )`,
];

/** The loudness of recordings over time, for players. */
export class Waveforms1765584000000 implements MigrationInterface {
  name = 'Waveforms1765584000000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE waveforms');
  }
}
