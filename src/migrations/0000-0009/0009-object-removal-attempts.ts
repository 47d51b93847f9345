import type { MigrationInterface, QueryRunner } from 'typeorm';

const UP = [
  'ALTER TABLE object_removals ADD COLUMN attempts integer NOT NULL DEFAULT 0',
  // No statement looks a recording up by its object, and the key holds the recording's id, which is unique.
  'ALTER TABLE recordings DROP CONSTRAINT recordings_object_key_key',
];

const DOWN = [
  'ALTER TABLE recordings ADD CONSTRAINT recordings_object_key_key UNIQUE (object_key)',
  'ALTER TABLE object_removals DROP COLUMN attempts',
];

/** How often the removal of an object was tried. The first attempt ends the reservation of an upload. */
export class ObjectRemovalAttempts1764374400000 implements MigrationInterface {
  name = 'ObjectRemovalAttempts1764374400000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const statement of DOWN) await runner.query(statement);
  }
}
