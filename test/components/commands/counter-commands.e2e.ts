import { setTimeout as delay } from 'node:timers/promises';
import { CounterAuditService } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { compactUsageCounters } from '../../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import type { DatabaseService, Tx } from '../../../src/platform/database/database.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { commandRunner } from '../../support/service/cli.js';
import { fail, transcribe, upload } from '../../support/state/recording-states.js';

const service = useService({ ROLES: 'api' });
const run = commandRunner();

async function command(name: string, client: ApiClient) {
  const said = await run(service.environment, name, '--account', client.accountId, '--json');
  return { ...said, result: JSON.parse(said.stdout) };
}

async function falsify({ accountId }: ApiClient, figure: string, by: number): Promise<void> {
  await compactUsageCounters(service.database);
  await service.database.query(`UPDATE usage_counters SET ${figure} = ${figure} + $2 WHERE account_id = $1`, [
    accountId,
    by,
  ]);
}

describe('counters:verify and counters:rebuild', () => {
  it('find and mend every falsified figure while uploads and deletes go on', async () => {
    const client = await service.account();
    const ids = [await upload(client), await upload(client), await upload(client)] as const;
    await transcribe(service, ids[0], { durationMs: 140 });
    await fail(service, ids[1]);
    await client.delete(`/v1/recordings/${ids[1]}`).expect(204);
    expect(await command('counters:verify', client)).toMatchObject({
      code: 0,
      result: { accounts_verified: 1, differences: [] },
    });

    for (const [figure, by] of Object.entries({ listed: 3, bytes: -17, queued_ms: 90_000, accepted: -9 })) {
      await falsify(client, figure, by);
    }
    const { code, stderr, result } = await command('counters:verify', client);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const figures = result.differences.map(({ figure }: { figure: string }) => figure);
    expect(new Set(figures)).toEqual(new Set(['listed', 'bytes', 'queued_ms', 'accepted']));
    expect(result.differences[0]).toEqual({
      account_id: client.accountId,
      day: expect.stringMatching(/^\d{4}-\d{2}-\d{2}$/),
      status: null,
      figure: 'accepted',
      counted: expect.any(Number),
      actual: 2,
    });

    let going = true;
    const busy = (async () => {
      while (going) {
        const { body } = await client.upload(silenceWav(0.1)).expect(201);
        await client.upload(silenceWav(0.2)).expect(201);
        await client.delete(`/v1/recordings/${body.id}`).expect(204);
        await compactUsageCounters(service.database);
        await delay(1);
      }
    })();
    expect(await command('counters:rebuild', client)).toMatchObject({
      code: 0,
      result: { accounts_rebuilt: 1, corrected: [{ account_id: client.accountId }] },
    });
    // In the middle of it as well.
    expect((await command('counters:verify', client)).result.differences).toEqual([]);
    going = false;
    await busy;
    expect((await command('counters:verify', client)).result.differences).toEqual([]);
    const { body } = await client.get('/v1/recordings?limit=100').expect(200);
    expect(body.total).toBe(body.recordings.length);
  });

  it('add what is missing once, also when two rebuild at the same time', async () => {
    const { database } = service;
    const client = await service.account();
    await upload(client);
    await falsify(client, 'listed', 3);
    let corrected = (): void => undefined;
    let commit = (): void => undefined;
    const hasCorrected = new Promise<void>((resolve) => (corrected = resolve));
    const mayCommit = new Promise<void>((resolve) => (commit = resolve));
    const slow = {
      transact: <T>(work: (tx: Tx) => Promise<T>) =>
        database.transact(async (tx) => {
          const result = await work(tx);
          corrected();
          await mayCommit;
          return result;
        }),
    };
    const first = new CounterAuditService(slow as DatabaseService).rebuild(client.accountId);
    await hasCorrected;
    const audit = new CounterAuditService(database);
    const second = audit.rebuild(client.accountId);
    await Promise.race([second, delay(300)]);
    commit();
    expect(await Promise.all([first, second])).toEqual([1, 0]);
    expect(await audit.differences(client.accountId)).toEqual([]);
  });

  it('mend any number of wrong figures', async () => {
    const client = await service.account();
    await upload(client);
    await service.database.query(
      `INSERT INTO usage_breakdowns (account_id, dimension, value, day, accepted, transcribed, failed, duration_ms, bytes)
       SELECT $1, 'user', 'user-' || i, (now() AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 1 FROM generate_series(1, 130000) i`,
      [client.accountId],
    );
    expect(await command('counters:rebuild', client)).toMatchObject({
      code: 0,
      result: { corrected: [{ account_id: client.accountId, days_corrected: 1 }] },
    });
    const wrong = `SELECT FROM usage_breakdowns WHERE account_id = $1 AND value <> '' AND bytes <> 0 LIMIT 1`;
    expect(await service.database.query(wrong, [client.accountId])).toEqual([]);
  });

  it('go through all accounts, also many of them, as account:list does', async () => {
    await service.database.query(
      `INSERT INTO accounts (id, name, email, status, plan, created_at, updated_at)
       SELECT gen_random_uuid(), 'One of many', 'many@example.com', 'active', 'free', now(), now()
       FROM generate_series(1, 450)`,
    );
    const client = await service.account();
    await upload(client);
    const [stored] = await service.database.query<{ count: number }>('SELECT count(*)::int AS count FROM accounts');
    const verified = await run(service.environment, 'counters:verify', '--json');
    expect(JSON.parse(verified.stdout)).toEqual({ accounts_verified: stored?.count, differences: [] });
    const listed = JSON.parse((await run(service.environment, 'account:list', '--json')).stdout);
    expect(listed.accounts).toHaveLength(stored?.count as number);
    const ours = listed.accounts.find(({ id }: { id: string }) => id === client.accountId);
    expect(ours.usage.current_month.recordings_count).toBe(1);
  });
});
