import request from 'supertest';
import { RecordingLeasesService } from '../../../src/modules/recordings/leases/recording-leases.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';

const service = useService({ ROLES: 'api' });

beforeEach(() => service.database.query('DELETE FROM recordings'));

/** Recordings of which the oldest has waited for so many seconds. @param state values of `status` and `rerun` */
function add({ accountId }: ApiClient, count: number, seconds: number, state = `'processing', NULL`): Promise<unknown> {
  return service.database.query(
    `INSERT INTO recordings (id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
       audio_format, upload_source, status, rerun, rerun_at, features, processed_at, created_at, updated_at)
     SELECT gen_random_uuid(), $1, 'a.wav', gen_random_uuid(), 'b', 1000, 1, 'wav', 'api', state.status, state.rerun,
       CASE WHEN state.rerun IS NOT NULL THEN now() - make_interval(secs => $3) END,
       CASE WHEN state.rerun IS NOT NULL THEN '{}'::jsonb END, CASE WHEN state.rerun IS NOT NULL THEN now() END,
       now() - CASE WHEN state.rerun IS NULL THEN make_interval(secs => $3) ELSE '1 day' END, now()
     FROM generate_series(1, $2::int), (VALUES (${state})) state (status, rerun)`,
    [accountId, count, seconds],
  );
}

/** `recordings_waiting` and, in whole minutes, `recordings_waiting_seconds`; null where there is no figure. */
async function queue(): Promise<[number | null, number | null]> {
  const { text } = await request(service.url).get('/metrics').expect(200);
  const valueOf = (name: string): number | null => {
    const value = new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1];
    return value === undefined ? null : Number(value);
  };
  const seconds = valueOf('recordings_waiting_seconds');
  return [valueOf('recordings_waiting'), seconds === null ? null : Math.floor(seconds / 60)];
}

describe('the metrics of the queue of recordings', () => {
  it('are 0 without recordings', async () => {
    expect(await queue()).toEqual([0, 0]);
  });

  it('count what waits, of all accounts, uploads and what is to be transcribed again', async () => {
    const [first, second] = [await service.account(), await service.account()];
    await add(first, 3, 120);
    await add(second, 2, 300);
    expect(await queue()).toEqual([5, 5]);
    await add(second, 1, 600, `'transcribed', 'requested'`);
    expect(await queue()).toEqual([6, 10]);
  });

  it('leave out what a worker has, what is in the background, and suspended accounts', async () => {
    const [client, suspended] = [await service.account(), await service.account()];
    await add(client, 2, 120);
    await service.app.get(RecordingLeasesService).claimNext();
    await add(client, 5, 6000, `'transcribed', 'background'`);
    await add(suspended, 5, 6000);
    await service.database.query(`UPDATE accounts SET status = 'suspended' WHERE id = $1`, [suspended.accountId]);
    expect(await queue()).toEqual([1, 2]);
  });

  it('count no more than 10,000 of an account', async () => {
    const [long, short] = [await service.account(), await service.account()];
    await add(long, 10_001, 120);
    await add(short, 1, 60);
    expect(await queue()).toEqual([10_001, 2]);
  });
});
