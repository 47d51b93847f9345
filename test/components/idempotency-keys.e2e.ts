import { v7 as uuidv7 } from 'uuid';
import {
  claimIdempotencyKey,
  deleteExpiredIdempotencyKeys,
  findIdempotencyKey,
  forgetIdempotencyKey,
} from '../../src/modules/recordings/upload/idempotency.queries.js';
import { useService } from '../../src/testing/test-service.js';

const DAY = 86_400;

describe('Idempotency-Keys in Postgres (D20)', () => {
  const service = useService({ ROLES: 'api' });
  let accountId: string;

  beforeEach(async () => {
    ({ accountId } = await service.account());
    await service.database.query('DELETE FROM idempotency_keys', []);
  });

  const keyOf = (key = 'k', identity = 'ada', account = accountId) => ({ accountId: account, identity, key });
  const claim = (recordingId: string, fingerprint = 'f', keptSeconds = DAY, key = keyOf()) =>
    service.database.transact((tx) => claimIdempotencyKey(tx, { ...key, fingerprint, recordingId }, keptSeconds));
  const find = async (keptSeconds = DAY, key = keyOf()) => await findIdempotencyKey(service.database, key, keptSeconds);
  const age = async (seconds: number) =>
    void (await service.database.query('UPDATE idempotency_keys SET created_at = now() - make_interval(secs => $1)', [
      seconds,
    ]));

  it('are found by account, identity and key, all three', async () => {
    const recordingId = uuidv7();
    expect(await claim(recordingId)).toBe(true);
    expect(await find()).toEqual({ fingerprint: 'f', recordingId });
    const others = [keyOf('x'), keyOf('k', ''), keyOf('k', 'ada', (await service.account()).accountId)];
    for (const other of others) {
      expect(await find(DAY, other)).toBeNull();
      expect(await claim(uuidv7(), 'f', DAY, other)).toBe(true);
    }
    expect(await find()).toEqual({ fingerprint: 'f', recordingId });
  });

  it('can be claimed again when their time has passed, and keep the first upload until then', async () => {
    const [first, second] = [uuidv7(), uuidv7()];
    await claim(first, 'f1', 60);
    await age(50);
    expect([await claim(second, 'f2', 60), await find(60)]).toEqual([false, { fingerprint: 'f1', recordingId: first }]);
    await age(61);
    expect(await find(60)).toBeNull();
    expect([await claim(second, 'f2', 60), await find(60)]).toEqual([true, { fingerprint: 'f2', recordingId: second }]);
    // The new upload has a time of its own.
    expect(await claim(first, 'f1', 60)).toBe(false);
  });

  it('are forgotten only while they name the recording that is gone', async () => {
    const [first, second] = [uuidv7(), uuidv7()];
    await claim(first);
    await claim(uuidv7(), 'f', DAY, keyOf('other'));
    await forgetIdempotencyKey(service.database, { ...keyOf(), recordingId: second });
    expect(await find()).not.toBeNull();
    await forgetIdempotencyKey(service.database, { ...keyOf(), recordingId: first });
    expect([await find(), (await find(DAY, keyOf('other')))?.fingerprint]).toEqual([null, 'f']);
  });

  it('are deleted after a day, so many at a time, and not before', async () => {
    for (const key of ['a', 'b', 'c']) await claim(uuidv7(), 'f', DAY, keyOf(key));
    await age(DAY - 60);
    expect(await deleteExpiredIdempotencyKeys(service.database, 10)).toBe(0);
    await age(DAY + 1);
    await claim(uuidv7(), 'f', DAY, keyOf('new'));
    expect(await deleteExpiredIdempotencyKeys(service.database, 2)).toBe(2);
    expect(await deleteExpiredIdempotencyKeys(service.database, 2)).toBe(1);
    expect((await find(DAY, keyOf('new')))?.fingerprint).toBe('f');
  });
});
