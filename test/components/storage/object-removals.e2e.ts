import { randomUUID } from 'node:crypto';
import { DatabaseService } from '../../../src/platform/database/database.service.js';
import {
  beginDueRemovals,
  beginRemoval,
  claimReservedObject,
  ObjectRemovalsService,
} from '../../../src/platform/storage/object-removals.service.js';
import { useService } from '../../../src/testing/test-service.js';

/** Does no work of its own. */
const api = useService({ ROLES: 'api' });
let database: DatabaseService;

beforeAll(() => {
  database = api.app.get(DatabaseService);
});

beforeEach(async () => {
  await database.query('DELETE FROM object_removals');
});

const add = (key: string, seconds: number) =>
  database.query(
    'INSERT INTO object_removals (object_key, remove_after) VALUES ($1, now() + make_interval(secs => $2))',
    [key, seconds],
  );
const setDue = () => database.query(`UPDATE object_removals SET remove_after = now() - interval '1 second'`);

async function row(key: string) {
  const [found] = await database.query<{ attempts: number; seconds: number }>(
    `SELECT attempts, extract(epoch FROM remove_after - now())::float8 AS seconds FROM object_removals WHERE object_key = $1`,
    [key],
  );
  return found;
}

async function claim(key: string): Promise<boolean> {
  return (await database.query(claimReservedObject('$1'), [key])).length > 0;
}

describe('the list of objects to remove', () => {
  it('gives what is due, the longest first, and nothing before its time', async () => {
    await Promise.all([add('later', 60), add('second', -1), add('first', -2), add('third', 0)]);
    expect((await beginDueRemovals(database, 2)).toSorted()).toEqual(['first', 'second']);
    expect(await beginDueRemovals(database, 10)).toEqual(['third']);
    expect(await beginRemoval(database, 'later')).toBe(false);
    expect(await row('later')).toMatchObject({ attempts: 0 });
  });

  it('gives an object to one of several processes', async () => {
    await add('one', -1);
    const begun = await Promise.all(Array.from({ length: 8 }, () => beginRemoval(database, 'one')));
    expect(begun.filter(Boolean)).toHaveLength(1);
    await setDue();
    const lists = await Promise.all(Array.from({ length: 8 }, () => beginDueRemovals(database, 10)));
    expect(lists.flat()).toEqual(['one']);
  });

  it('gives an upload its reserved object until the removal has begun, and not any more then', async () => {
    await Promise.all([add('kept', 3600), add('expired', -1)]);
    expect(await claim('kept')).toBe(true);
    expect(await row('kept')).toBeUndefined();
    expect(await beginRemoval(database, 'expired')).toBe(true);
    expect(await claim('expired')).toBe(false);
    expect(await row('expired')).toMatchObject({ attempts: 1 });
  });

  it('keeps an object that may arrive late until its reservation expires, and no other', async () => {
    const removals = api.app.get(ObjectRemovalsService);
    const key = `${randomUUID()}/2026/11/${randomUUID()}.wav`;
    await add(key, 3600);
    await removals.cancel(key, { mayArriveLate: true });
    expect(await row(key)).toMatchObject({ attempts: 0 });
    await removals.cancel(key);
    expect(await row(key)).toBeUndefined();
  });

  it('tries again after 2, 4, 8 s and on, up to an hour', async () => {
    await add('stubborn', -1);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 13; attempt++) {
      expect(await beginRemoval(database, 'stubborn')).toBe(true);
      waits.push(Math.round((await row('stubborn'))?.seconds ?? 0));
      await setDue();
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600]);
  });
});
