import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A busy table is waited for briefly, so that requests do not queue behind the migration. */
const LOCK_TIMEOUT = `SET LOCAL lock_timeout = '5s'`;

/** Not validated, because that reads the whole table: what is there already has passed a stricter check. */
const formatCheck = (formats: string): string[] => [
  'ALTER TABLE recordings DROP CONSTRAINT recordings_format_check',
  `ALTER TABLE recordings ADD CONSTRAINT recordings_format_check CHECK (audio_format IN (${formats})) NOT VALID`,
];

const UP = [
  LOCK_TIMEOUT,
  ...formatCheck(`'webm', 'mp3', 'ogg', 'wav', 'm4a', 'aac', 'flac', 'amr'`),
  'ALTER TABLE recordings ADD COLUMN separate_channels boolean NOT NULL DEFAULT false',
];

const DOWN = [
  LOCK_TIMEOUT,
  'ALTER TABLE recordings DROP COLUMN separate_channels',
  ...formatCheck(`'webm', 'mp3', 'ogg', 'wav'`),
];

/** Recordings in more formats, and those of which each channel is transcribed on its own. */
export class MoreFormats1765497600000 implements MigrationInterface {
  name = 'MoreFormats1765497600000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
