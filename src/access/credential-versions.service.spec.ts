import type { DatabaseService } from '../platform/database/database.service.js';
import type { RedisService } from '../platform/redis/redis.service.js';
import { CredentialVersionsService } from './credential-versions.service.js';

/** Longer than a copy that another process may still read: no process takes an older version for current then. */
const FORGOTTEN_MS = 4000;

describe('CredentialVersionsService', () => {
  /** What was sent to Redis. */
  let sent: unknown[][];
  let copy: string | null;
  let raised: number;
  let isReachable: boolean;
  let defined: [name: string, options: { numberOfKeys?: number }][];
  let versions: CredentialVersionsService;

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
    [sent, copy, raised, isReachable, defined] = [[], '7', 7, true, []];
    const client = {
      defineCommand: (...definition: [string, { numberOfKeys?: number }]) => defined.push(definition),
      get: async (key: string) => {
        sent.push(['get', key]);
        return copy;
      },
      time: async () => ['1700000000', '250999'],
      raiseCredentialVersion: async (...raise: unknown[]) => {
        sent.push(raise);
        return raised;
      },
    };
    const tryCommand = async (send: (to: typeof client) => unknown) => (isReachable ? await send(client) : null);
    const tx = {
      query: async (sql: string, [accountId]: [string]) => {
        sent.push([sql.includes('credential_version') ? 'version' : sql, accountId]);
        return [{ version: 9 }];
      },
    };
    const transact = async (work: (inner: typeof tx) => Promise<unknown>) => {
      const result = await work(tx);
      sent.push(['commit']);
      return result;
    };
    versions = new CredentialVersionsService(
      { client, tryCommand } as unknown as RedisService,
      { transact } as unknown as DatabaseService,
    );
  });

  afterEach(() => jest.useRealTimers());

  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  it('gives the script the one key that a cluster must know', () => {
    expect(defined).toMatchObject([['raiseCredentialVersion', { numberOfKeys: 1 }]]);
  });

  it('tells the time of Redis in whole milliseconds, or null', async () => {
    expect(await versions.readTime()).toBe(1_700_000_000_250);
    isReachable = false;
    expect(await versions.readTime()).toBeNull();
  });

  it.each([
    ['7', true, true],
    ['8', true, false],
    ['6', true, false],
    [null, true, false],
    ['7', false, false],
  ])('takes version 7 for current with a copy of %s, Redis reachable %s: %s', async (inRedis, reachable, isCurrent) => {
    [copy, isReachable] = [inRedis, reachable];
    expect(await versions.isCurrent('a', 7)).toBe(isCurrent);
  });

  it('takes no version for current without a copy, not even that of an account that is gone', async () => {
    isReachable = false;
    expect(await versions.isCurrent('a', 0)).toBe(false);
  });

  it('asks once for the requests of an account in one turn, and again in the next', async () => {
    const first = [versions.isCurrent('a', 7), versions.isCurrent('a', 6), versions.isCurrent('b', 7)];
    expect(await Promise.all(first)).toEqual([true, false, true]);
    expect(sent).toEqual([
      ['get', 'credential-version:a'],
      ['get', 'credential-version:b'],
    ]);
    await turn();
    copy = '8';
    expect(await versions.isCurrent('a', 7)).toBe(false);
    expect(sent).toHaveLength(3);
  });

  it('stores what was read for 2 s, and nothing that was read a second ago', async () => {
    expect(await versions.confirm('a', 7, 123)).toBe(true);
    expect(sent).toEqual([['credential-version:a', 7, 2000, 123, 1000]]);
  });

  it.each([
    ['a newer version', 8, false],
    ['that it was read too long ago', -1, false],
    ['the same version', 7, true],
  ])('confirms nothing when Redis answers %s', async (_, answer, isConfirmed) => {
    raised = answer;
    expect(await versions.confirm('a', 7, 123)).toBe(isConfirmed);
  });

  it('lets the read alone count without Redis, before it or after', async () => {
    raised = 8;
    expect(await versions.confirm('a', 7, null)).toBe(true);
    expect(sent).toEqual([]);
    isReachable = false;
    expect(await versions.confirm('a', 7, 123)).toBe(true);
  });

  it('tells Redis of a change after its commit, and waits for nothing more when Redis has it', async () => {
    expect(await versions.change('a', async () => sent.push(['work']))).toBe(1);
    expect(sent).toEqual([['work'], ['version', 'a'], ['commit'], ['credential-version:a', 9, 2000, 0, 1000]]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits until every copy is forgotten when Redis could not be told', async () => {
    isReachable = false;
    let isDone = false;
    const announced = versions.change('a', async () => undefined).then(() => (isDone = true));
    await jest.advanceTimersByTimeAsync(FORGOTTEN_MS - 1);
    expect(isDone).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    await announced;
  });
});
