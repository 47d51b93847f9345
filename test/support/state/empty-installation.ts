import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestEnvironment } from '../../../src/testing/test-environment.js';

/** What differs in the variables of a service with a database without tables, and an empty folder of objects. Gone with the environment. */
export async function emptyInstallation(environment: TestEnvironment): Promise<Record<string, string>> {
  const url = new URL(environment.variables.DATABASE_URL as string);
  const name = `restored_${randomBytes(6).toString('hex')}`;
  await onServer(url.href, `CREATE DATABASE ${name}`);
  environment.defer(() =>
    onServer(environment.variables.DATABASE_URL as string, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  );
  url.pathname = `/${name}`;
  return { DATABASE_URL: url.href, STORAGE_DIR: await newFolder(environment, 'restored') };
}

/** Empty, and gone with the environment. */
export async function newFolder(environment: TestEnvironment, purpose: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), `voice-notes-${purpose}-`));
  environment.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Every row of every table of a database as text, sorted. @param without columns that differ, by table */
export async function contentOf(
  databaseUrl: string,
  without: Record<string, readonly string[]> = {},
): Promise<Record<string, string[]>> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY 1`,
    );
    const content: Record<string, string[]> = {};
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(
        `SELECT (to_jsonb(t) - $1::text[])::text AS row FROM ${name} t ORDER BY 1`,
        [without[name] ?? []],
      );
      content[name] = rows.map(({ row }) => row);
    }
    return content;
  } finally {
    await client.end();
  }
}

/** Runs one statement on a connection of its own. @returns the rows */
export async function onServer<Row>(databaseUrl: string, sql: string, parameters: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql, parameters)).rows as Row[];
  } finally {
    await client.end();
  }
}
