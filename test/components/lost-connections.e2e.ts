import type { ClientConfig } from 'pg';
import { DataSource } from 'typeorm';
import { readEnv } from '../../src/platform/config/env.js';
import { dataSourceOptions, WatchedClient } from '../../src/platform/database/data-source.js';
import { DatabaseService } from '../../src/platform/database/database.service.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';

/** For statements that are not answered. */
const QUERY_TIMEOUT_MS = 400;
/** For the others, which a busy machine answers late. */
const LONG_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;

const environment = useEnvironment();
let proxy: TcpProxy;
let source: DataSource;
let database: DatabaseService;
let queryTimeoutMs = LONG_TIMEOUT_MS;

/** pg reads the limit at each statement: it is short while the connection is frozen, and only then. */
class LimitedClient extends WatchedClient {
  constructor(config: ClientConfig) {
    super(config);
    const { connectionParameters } = this as unknown as { connectionParameters: object };
    Object.defineProperty(connectionParameters, 'query_timeout', { get: () => queryTimeoutMs });
  }
}

beforeAll(async () => {
  proxy = await TcpProxy.to(environment.variables.DATABASE_URL as string);
  environment.defer(() => proxy.close());
  const env = readEnv({ ...environment.variables, DATABASE_URL: proxy.url });
  const options = dataSourceOptions(env, []);
  // With one connection the next user certainly gets the one whose statement timed out.
  const extra = { ...options.extra, max: 1, Client: LimitedClient, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  source = await new DataSource({ ...options, extra }).initialize();
  environment.defer(() => source.destroy());
  database = new DatabaseService(source);
  await database.query('CREATE TABLE parcels (name text PRIMARY KEY)');
});

beforeEach(() => database.query('DELETE FROM parcels'));

function freeze(): void {
  queryTimeoutMs = QUERY_TIMEOUT_MS;
  proxy.freeze();
}

async function mend(): Promise<void> {
  queryTimeoutMs = LONG_TIMEOUT_MS;
  await proxy.mend();
}

const insert = (on: Pick<DatabaseService, 'query'>, name: string) =>
  on.query('INSERT INTO parcels (name) VALUES ($1)', [name]);

async function names(): Promise<string[]> {
  const rows = await database.query<{ name: string }>('SELECT name FROM parcels ORDER BY name');
  return rows.map(({ name }) => name);
}

/** The statement, and a ROLLBACK that waits behind it, have been given up when this resolves. */
const frozen = (work: Promise<unknown>) => expect(work).rejects.toThrow('Query read timeout');

describe('a statement that Postgres does not answer in time', () => {
  it('never commits the part of its transaction that came before it', async () => {
    await frozen(
      database.transact(async (tx) => {
        await insert(tx, 'prefix');
        freeze();
        await insert(tx, 'unanswered');
      }),
    );
    await mend();
    await database.transact(async (tx) => {
      await insert(tx, 'next');
    });
    expect(await names()).toEqual(['next']);
  });

  it('prepared or not, inside a transaction or alone, gives its connection to nobody', async () => {
    const pid = async () => (await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid'))[0]?.pid;
    const first = await pid();
    await frozen(
      database.transact(async (tx) => {
        freeze();
        await tx.prepared('SELECT $1::int', [1]);
      }),
    );
    await mend();
    const second = await pid();
    freeze();
    await frozen(database.query('SELECT 1'));
    await mend();
    expect(new Set([first, second, await pid()]).size).toBe(3);
  });

  it('gives back its place in the pool while Postgres stays silent', async () => {
    await database.query('SELECT 1');
    freeze();
    await frozen(database.query('SELECT 1'));
    await expect(database.query('SELECT 1')).rejects.toThrow(/connection timeout/);
    await mend();
    expect(await names()).toEqual([]);
  });
});
