import type { DataSource } from 'typeorm';

/** Roles of Postgres that processes can connect as, made by docker/roles.sql. */
export const DATABASE_ROLES = {
  api: 'voice_notes_api',
  transcriber: 'voice_notes_transcriber',
  deliverer: 'voice_notes_deliverer',
} as const;

/** By table, what GRANT takes for each role; a role that is not named may do nothing with it. */
export type Grants = Record<string, Partial<Record<keyof typeof DATABASE_ROLES, string>>>;

/** Arbitrary. Two processes that grant the same would fail each other. */
const GRANT_LOCK = 7_305_120;

/**
 * Gives the roles that exist in this server their privileges, and no others, in one transaction, so that a running
 * process never lacks one. Without these roles it does nothing: then all processes connect as the owner of the tables.
 * @param options onlyAdds: takes nothing, as a newer release, of which processes still run, may have granted more
 */
export async function applyGrants(
  dataSource: DataSource,
  grants: Grants,
  { onlyAdds = false }: { onlyAdds?: boolean } = {},
): Promise<void> {
  await dataSource.transaction(async (manager) => {
    await manager.query('SELECT pg_advisory_xact_lock($1)', [GRANT_LOCK]);
    for (const [name, role] of Object.entries(DATABASE_ROLES)) {
      if ((await manager.query<unknown[]>('SELECT 1 FROM pg_roles WHERE rolname = $1', [role])).length === 0) continue;
      if (!onlyAdds) await manager.query(`REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ${role}`);
      await manager.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
      for (const [table, privileges] of Object.entries(grants)) {
        const granted = privileges[name as keyof typeof DATABASE_ROLES];
        if (granted) await manager.query(`GRANT ${granted} ON ${table} TO ${role}`);
      }
    }
  });
}
