import request from 'supertest';
import { DataSource } from 'typeorm';
import { readEnv } from '../../../src/platform/config/env.js';
import { connectionErrorMessage } from '../../../src/platform/database/unavailable.js';
import { dataSourceOptions } from '../../../src/platform/database/data-source.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { useFleet } from '../../support/service/fleet.js';
import { PgBouncer } from '../../support/servers/pgbouncer.js';

const POOL_SIZE = 5;

const fleet = useFleet();
const { environment } = fleet;
const isInstalled = PgBouncer.isInstalled();

if (!isInstalled) it.todo('runs behind PgBouncer in transaction mode: skipped, because pgbouncer is not installed');

(isInstalled ? describe : describe.skip)('behind PgBouncer in transaction mode', () => {
  let bouncer: PgBouncer;
  let api: TestService;
  let workers: TestService[];
  let client: ApiClient;

  beforeAll(async () => {
    bouncer = await PgBouncer.to(environment.variables.DATABASE_URL as string, POOL_SIZE);
    fleet.defer(() => bouncer.stop());
    await expect(start('api')).rejects.toThrow(/ALTER ROLE \S+ SET statement_timeout = '15s'/);
    await limitStatements();
    api = await start('api');
    workers = [await start('worker'), await start('worker')];
    client = await api.account();
  });

  /** For the database of this test alone: others use the role. */
  async function limitStatements(): Promise<void> {
    const direct = await fleet.postgres();
    const name = new URL(environment.variables.DATABASE_URL as string).pathname.slice(1);
    await direct.query(`ALTER DATABASE "${name}" SET statement_timeout = '15s'`);
    // Sessions of before have the old setting.
    await bouncer.stop();
    bouncer = await PgBouncer.to(environment.variables.DATABASE_URL as string, POOL_SIZE);
  }

  function start(roles: string): Promise<TestService> {
    const pooler = { DATABASE_POOLER: 'true', DATABASE_PREPARED_STATEMENTS: 'false' };
    return fleet.service(roles, { DATABASE_URL: bouncer.url, ...pooler });
  }

  it('takes uploads, transcribes them and delivers their events, with far fewer sessions than clients', async () => {
    const receiver = await fleet.receiver();
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const uploads = await Promise.all(Array.from({ length: 12 }, () => client.upload(silenceWav(0.1)).expect(201)));
    for (const { body } of uploads) expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    await receiver.waitFor(({ length }) => length === uploads.length);
    const { body: list } = await client.get('/v1/recordings').expect(200);
    expect(list.total).toBe(uploads.length);
    await request(api.url).get('/health/ready').expect(200);
  });

  it('limits each transaction, as without a pooler', async () => {
    const settings = await api.database.transact((tx) =>
      tx.query(`SELECT current_setting('statement_timeout') AS statement, current_setting('timezone') AS zone,
        current_setting('idle_in_transaction_session_timeout') AS idle`),
    );
    expect(settings).toEqual([{ statement: '15s', zone: 'UTC', idle: '1min' }]);
  });

  it('leaves the lock of the reconciler in no session, so that another worker goes on', async () => {
    const reserve = async (key: string): Promise<void> => {
      await api.database.query('INSERT INTO object_removals (object_key, remove_after) VALUES ($1, now())', [key]);
    };
    const isRemoved = async (): Promise<boolean> =>
      (await api.database.query('SELECT 1 FROM object_removals')).length === 0;
    for (let round = 0; round < 5; round++) {
      await reserve(`${client.accountId}/2026/11/${round}.wav`);
      await eventually(isRemoved, 30_000);
    }
    await workers[0]?.close();
    await reserve(`${client.accountId}/2026/11/last.wav`);
    await eventually(isRemoved, 30_000);
  });

  it('says which setting is missing', async () => {
    const env = readEnv({ ...environment.variables, DATABASE_URL: bouncer.url });
    const error: unknown = await new DataSource(dataSourceOptions(env, []))
      .initialize()
      .catch((reason: unknown) => reason);
    expect(connectionErrorMessage(error, env.databaseUrl)).toContain('set DATABASE_POOLER=true');
  });
});
