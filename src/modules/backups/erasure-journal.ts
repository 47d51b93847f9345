import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { NIL } from 'uuid';
import type { SqlRunner } from '../../platform/database/database.service.js';
import type { BackupDestination } from './backup-destination.js';
import { backupIdOf, InvalidBackupError, timeOfName } from './backup-format.js';
import { linesOf } from './object-lists.js';

/** Erasures of one file. */
const BATCH = 10_000;
/** The clocks of the database and of those who wrote files may differ. */
const MARGIN_MS = 60 * 60 * 1000;

/** Something that was deleted or revoked. */
export interface Erasure {
  id: string;
  kind: string;
  subject_id: string;
  digest: string | null;
  at: string;
}

const COLUMNS = `id, kind, subject_id, digest, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at`;

/** Stores erasures that the destination does not have yet. @returns how many */
export async function writeNewErasures(runner: SqlRunner, destination: BackupDestination): Promise<number> {
  for (let written = 0; ;) {
    const erasures = await runner.query<Erasure>(
      `SELECT ${COLUMNS} FROM erasures e WHERE NOT is_written ORDER BY e.at LIMIT $1`,
      [BATCH],
    );
    if (erasures.length === 0) return written;
    await writeFile(runner, destination, erasures);
    await runner.query('UPDATE erasures SET is_written = true WHERE id = ANY ($1)', [erasures.map(({ id }) => id)]);
    written += erasures.length;
    if (erasures.length < BATCH) return written;
  }
}

/** Stores all erasures that the database still knows, for a place that gets them from no one else. @returns how many */
export async function writeAllErasures(runner: SqlRunner, destination: BackupDestination): Promise<number> {
  let written = 0;
  for (let after: string = NIL; ;) {
    const erasures = await runner.query<Erasure>(
      `SELECT ${COLUMNS} FROM erasures e WHERE id > $1 ORDER BY id LIMIT $2`,
      [after, BATCH],
    );
    const last = erasures.at(-1);
    if (!last) return written;
    await writeFile(runner, destination, erasures);
    written += erasures.length;
    after = last.id;
  }
}

/** Named by the clock of the database, as backups are. */
async function writeFile(runner: SqlRunner, destination: BackupDestination, erasures: Erasure[]): Promise<void> {
  const [row] = await runner.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const name = `${backupIdOf((row as { now: Date }).now)}${randomBytes(5).toString('hex')}`;
  const lines = erasures.map((erasure) => `${JSON.stringify(erasure)}\n`).join('');
  await destination.write(`erasures/${name}.gz`, gzipSync(lines));
}

const isOf = (key: string, since: Date): boolean =>
  !(timeOfName(key.slice('erasures/'.length)).getTime() < since.getTime() - MARGIN_MS);

/**
 * What was erased since `since`, and some of what was erased shortly before.
 * @throws InvalidBackupError naming a file that is damaged
 */
export async function* erasuresSince(destination: BackupDestination, since: Date): AsyncGenerator<Erasure[]> {
  for await (const key of destination.list('erasures')) {
    if (!isOf(key, since)) continue;
    const content = await destination.contentOf(key);
    try {
      yield linesOf(content).map((line) => JSON.parse(line) as Erasure);
    } catch (error) {
      throw new InvalidBackupError(`${key} is damaged: it says what was erased.`, { cause: error });
    }
  }
}

/** Removes what every backup knows that is as old as `since`. */
export async function removeErasuresBefore(destination: BackupDestination, since: Date): Promise<void> {
  const old: string[] = [];
  for await (const key of destination.list('erasures')) if (!isOf(key, since)) old.push(key);
  for (const key of old) await destination.remove(key);
}
