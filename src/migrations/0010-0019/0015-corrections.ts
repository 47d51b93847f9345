import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Every step changes the catalog only; a busy table is waited for briefly, so that requests do not queue behind it. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

const UP = [
  LOCK_TIMEOUT,
  `ALTER TABLE transcriptions
     ADD COLUMN revision integer NOT NULL DEFAULT 1,
     ADD COLUMN corrected_text text,
     ADD COLUMN corrected_words text,
     ADD CONSTRAINT transcriptions_correction_check
       CHECK ((corrected_text IS NULL) = (corrected_words IS NULL)) NOT VALID`,
];

const DOWN = [
  LOCK_TIMEOUT,
  `ALTER TABLE transcriptions DROP COLUMN revision, DROP COLUMN corrected_text, DROP COLUMN corrected_words`,
];

/** Corrections are columns of the transcription, so that what deletes it deletes them. */
export class Corrections1764892800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
