import { Client } from 'pg';
import { readEnv } from '../config/env.js';
import { dataSourceOptions, migrationDataSource, WatchedClient } from './data-source.js';

const URL = 'postgres://user:secret@db/notes';
const envOf = (variables: NodeJS.ProcessEnv = {}) =>
  readEnv({ NODE_ENV: 'test', DATABASE_URL: URL, REDIS_URL: 'redis://h', SECRET_KEY: 'k'.repeat(32), ...variables });

describe('dataSourceOptions', () => {
  const COMMON = {
    Client: WatchedClient,
    max: 20,
    connectionTimeoutMillis: 1500,
    query_timeout: 16_000,
    keepAlive: true,
    preparedStatements: true,
  };

  it('limit statements, idle transactions, connections and the wait for one, and use UTC', () => {
    expect(dataSourceOptions(envOf(), [])).toMatchObject({
      type: 'postgres',
      url: URL,
      applicationName: 'voice-notes',
      logging: false,
      migrationsTransactionMode: 'each',
      extra: {
        ...COMMON,
        statement_timeout: 15_000,
        idle_in_transaction_session_timeout: 60_000,
        options: '-c timezone=UTC',
      },
    });
  });

  it.each([
    ['', 1500],
    ['?sslmode=require', 1500],
    ['?sslmode=require&connect_timeout=1', 1000],
    ['?connect_timeout=999', 999_000],
  ])('wait for a connection as long as %j says', (parameters, ms) => {
    const { extra } = dataSourceOptions(envOf({ DATABASE_URL: `${URL}${parameters}` }), []);
    expect(extra).toMatchObject({ connectionTimeoutMillis: ms });
  });

  it('set the same in each transaction behind a pooler, which refuses them at the start', async () => {
    const { extra } = dataSourceOptions(envOf({ DATABASE_POOLER: 'true', DATABASE_PREPARED_STATEMENTS: 'false' }), []);
    expect(extra).toEqual({
      ...COMMON,
      preparedStatements: false,
      transactionSettings: { statement_timeout: 15_000, idle_in_transaction_session_timeout: 60_000 },
      onConnect: expect.any(Function),
    });
    const query = jest.fn();
    (extra as { onConnect: (client: object) => void }).onConnect({ query });
    expect(query.mock.calls).toEqual([[`SET timezone = 'UTC'`]]);
  });

  it('set no time limit on the statements of commands', () => {
    const extra = (variables = {}) =>
      dataSourceOptions(envOf(variables), [], { statementTimeoutMs: 0 }).extra as object;
    expect(extra()).toMatchObject({ statement_timeout: 0, query_timeout: 0 });
    expect(extra({ DATABASE_POOLER: 'true' })).toMatchObject({
      query_timeout: 0,
      transactionSettings: { statement_timeout: 0 },
    });
  });

  it('name columns after properties', () => {
    const { namingStrategy } = dataSourceOptions(envOf(), []);
    expect(namingStrategy?.columnName('createdAt', '', [])).toBe('created_at');
    expect(namingStrategy?.columnName('createdAt', 'madeAt', ['of'])).toBe('of_made_at');
  });
});

describe('migrationDataSource', () => {
  it('waits 100 ms for a table and as long as it takes for a statement', () => {
    const { options } = migrationDataSource(envOf(), []);
    expect(options).toMatchObject({
      extra: {
        Client: WatchedClient,
        connectionTimeoutMillis: 10_000,
        max: 2,
        transactionSettings: { lock_timeout: 100, statement_timeout: 0 },
        options: '-c timezone=UTC -c statement_timeout=0',
      },
    });
    expect(migrationDataSource(envOf(), [], { lockTimeoutMs: 300 }).options).toMatchObject({
      extra: { transactionSettings: { lock_timeout: 300, statement_timeout: 0 } },
    });
    expect(migrationDataSource(envOf({ DATABASE_POOLER: 'true' }), []).options.extra).not.toHaveProperty('options');
  });
});

describe('WatchedClient', () => {
  let answer: () => Promise<unknown>;
  let sent: unknown[][];
  let ended: number;

  beforeEach(() => {
    sent = [];
    ended = 0;
    answer = async () => ({ rows: [] });
    jest.spyOn(Client.prototype, 'query').mockImplementation((...parameters: unknown[]) => {
      sent.push(parameters);
      return answer() as never;
    });
    jest.spyOn(Client.prototype, 'end').mockImplementation(() => {
      ended++;
    });
  });

  afterEach(() => jest.restoreAllMocks());

  const TIMEOUTS = { transactionSettings: { lock_timeout: 5000, statement_timeout: 0 } };
  const SET = 'START TRANSACTION; SET LOCAL lock_timeout = 5000; SET LOCAL statement_timeout = 0';

  it.each<[string, object, unknown, unknown]>([
    ['sends the settings with the start of a transaction', TIMEOUTS, 'START TRANSACTION', SET],
    ['sends a start as it is without settings', {}, 'START TRANSACTION', 'START TRANSACTION'],
    ['sends any other statement as it is', TIMEOUTS, 'SELECT 1', 'SELECT 1'],
    ['names statements by default', {}, { name: 'a', text: 'b' }, { name: 'a', text: 'b' }],
    ['names none behind a pooler', { preparedStatements: false }, { name: 'a', text: 'b' }, { text: 'b' }],
    ['leaves statements without a name', { preparedStatements: false }, { text: 'b' }, { text: 'b' }],
  ])('%s', async (_, config, statement, expected) => {
    await new WatchedClient(config).query(statement as string, ['value']);
    expect(sent).toEqual([[expected, ['value']]]);
  });

  it('is ended when a statement gets no answer in time, and by no other error', async () => {
    const client = new WatchedClient();
    answer = () => Promise.reject(new Error('duplicate key'));
    await expect(client.query('INSERT')).rejects.toThrow('duplicate key');
    expect(ended).toBe(0);
    answer = () => Promise.reject(new Error('Query read timeout'));
    await expect(client.query('INSERT')).rejects.toThrow('Query read timeout');
    expect(ended).toBe(1);
  });

  it('survives the error of a closed connection', () => {
    expect(new WatchedClient().emit('error', new Error('closed'))).toBe(true);
  });
});
