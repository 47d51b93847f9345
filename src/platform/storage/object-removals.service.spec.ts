import { Logger } from '@nestjs/common';
import type { Repository } from 'typeorm';
import type { DatabaseService, Tx } from '../database/database.service.js';
import type { ReconcilerService } from '../queue/reconciler.service.js';
import type { ObjectStore } from './object-store.js';
import type { ObjectRemoval } from './object-removal.entity.js';
import { ObjectRemovalsService } from './object-removals.service.js';

const ROUND_MS = 5000;

const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => void setImmediate(resolve));
};

describe('ObjectRemovalsService', () => {
  let steps: unknown[][];
  /** Keys that each look for due objects finds. */
  let due: string[][];
  let begins: boolean;
  let failing: (key: string) => boolean;
  let warnings: unknown[][];
  let removeDue: () => Promise<number>;
  let service: ObjectRemovalsService;

  beforeEach(() => {
    [steps, due, begins, failing, warnings] = [[], [], true, () => false, []];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((...line: unknown[]) => void warnings.push(line));
    const database = {
      query: async (sql: string, [given]: unknown[]) => {
        if (!sql.includes('SKIP LOCKED')) {
          steps.push(['begin', given]);
          return begins ? [{}] : [];
        }
        steps.push(['due', given]);
        return (due.shift() ?? []).map((objectKey) => ({ objectKey, isAbandoned: objectKey.startsWith('left') }));
      },
    };
    const removals = {
      update: async ({ objectKey }: ObjectRemoval, { removeAfter, ...uncounted }: { removeAfter?: () => string }) => {
        expect(uncounted).toEqual({ accountId: null, bytes: null, durationMs: null });
        steps.push([removeAfter ? 'now' : 'later', objectKey, ...(removeAfter ? [removeAfter()] : [])]);
      },
      delete: async ({ objectKey }: ObjectRemoval) => void steps.push(['delete', objectKey]),
    };
    const store = {
      remove: async (key: string) => {
        await turns();
        steps.push(['remove', key]);
        if (failing(key)) throw new Error('no disk');
      },
    };
    const reconciler = {
      register: (name: string, run: () => Promise<number>) => {
        expect(name).toBe('remove objects');
        removeDue = run;
      },
    };
    service = new ObjectRemovalsService(
      database as unknown as DatabaseService,
      removals as unknown as Repository<ObjectRemoval>,
      store as unknown as ObjectStore,
      reconciler as unknown as ReconcilerService,
    );
    service.onModuleInit();
  });

  afterEach(() => jest.restoreAllMocks());

  it('removes the object of a deleted row after the commit, and not before it', async () => {
    const inserted: object[] = [];
    let commit: () => void = () => undefined;
    const tx = {
      manager: { insert: async (_: unknown, row: object) => void inserted.push(row) },
      afterCommit: (task: () => void) => (commit = task),
    };
    await service.discard(tx as unknown as Tx, 'k');
    await turns();
    expect([inserted, steps]).toEqual([[{ objectKey: 'k', removeAfter: expect.any(Function) }], []]);
    commit();
    await turns();
    await turns();
    expect(steps).toEqual([
      ['begin', 'k'],
      ['remove', 'k'],
      ['delete', 'k'],
    ]);
  });

  describe('an upload that is not kept', () => {
    it('has its object removed at once, and is then off the list', async () => {
      await service.cancel('k');
      expect(steps).toEqual([
        ['now', 'k', 'now()'],
        ['begin', 'k'],
        ['remove', 'k'],
        ['delete', 'k'],
      ]);
    });

    it('whose object may arrive late is removed, and stays on the list until its reservation ends', async () => {
      await service.cancel('k', { mayArriveLate: true });
      expect(steps).toEqual([
        ['later', 'k'],
        ['remove', 'k'],
      ]);
    });

    it('is left to another process that has begun', async () => {
      begins = false;
      await service.cancel('k');
      expect(steps.slice(1)).toEqual([['begin', 'k']]);
    });

    it.each([false, true])('stays on the list when its object cannot be removed; late: %s', async (mayArriveLate) => {
      failing = () => true;
      await service.cancel('k', { mayArriveLate });
      expect(steps.at(-1)).toEqual(['remove', 'k']);
      expect(warnings).toEqual([[{ err: new Error('no disk'), key: 'k' }, 'object removal postponed']]);
    });
  });

  describe('a round of the reconciler', () => {
    const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`);

    it('removes 20 at a time until fewer are due', async () => {
      due = [keys(20), keys(20), keys(19), keys(1)];
      await removeDue();
      expect(steps.filter(([name]) => name === 'due')).toEqual([
        ['due', 20],
        ['due', 20],
        ['due', 20],
      ]);
      expect(steps.filter(([name]) => name === 'delete')).toHaveLength(59);
      expect(due).toHaveLength(1);
    });

    it('begins no batch after 5 s', async () => {
      let now = 0;
      jest.spyOn(Date, 'now').mockImplementation(() => now);
      due = [keys(20), keys(20), keys(20)];
      failing = () => {
        now += ROUND_MS / 40;
        return false;
      };
      await removeDue();
      expect(due).toHaveLength(1);
    });

    it('keeps what cannot be removed on the list, removes the others, and says how many are left', async () => {
      due = [['a', 'b', 'c']];
      failing = (key) => key !== 'b';
      await removeDue();
      expect(steps.filter(([name]) => name === 'delete')).toEqual([['delete', 'b']]);
      expect(warnings).toEqual([[{ err: new Error('no disk'), objects: 2 }, 'object removal postponed']]);
    });

    it('counts those that uploads have abandoned', async () => {
      due = [
        ['left by one', ...keys(19)],
        ['left by another', 'a'],
      ];
      expect(await removeDue()).toBe(2);
    });

    it('says nothing when all are removed', async () => {
      due = [['a']];
      await removeDue();
      expect(warnings).toEqual([]);
    });
  });
});
