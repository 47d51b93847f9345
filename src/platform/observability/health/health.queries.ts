import type { DatabaseService } from '../../database/database.service.js';

/** Resolves when Postgres answers. SQL because TypeORM has no ping. */
export async function pingDatabase(database: DatabaseService): Promise<void> {
  await database.query('SELECT 1');
}
