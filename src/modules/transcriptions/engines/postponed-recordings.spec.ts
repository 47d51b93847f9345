import { Postponements } from './postponed-recordings.js';

describe('Postponements', () => {
  const NOTE = { accountId: 'a', spoken: 'english', minDurationMs: 60_000 };
  let postponements: Postponements;

  beforeEach(() => {
    jest.useFakeTimers();
    postponements = new Postponements();
  });

  afterEach(() => {
    jest.useRealTimers();
  });

  it('are one for each account and what is spoken, from the shortest length on', () => {
    postponements.add(NOTE, 10);
    postponements.add({ ...NOTE, minDurationMs: 90_000 }, 10);
    postponements.add({ ...NOTE, spoken: null }, 10);
    postponements.add({ ...NOTE, accountId: 'b', minDurationMs: 90_000 }, 10);
    postponements.add({ ...NOTE, accountId: 'b', minDurationMs: 30_000 }, 10);
    expect(postponements.current).toMatchObject([
      NOTE,
      { ...NOTE, spoken: null },
      { ...NOTE, accountId: 'b', minDurationMs: 30_000 },
    ]);
  });

  it('end after their time, with the length that they began at', () => {
    postponements.add(NOTE, 10);
    jest.advanceTimersByTime(9_999);
    expect(postponements.current).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(postponements.current).toEqual([]);
    postponements.add({ ...NOTE, minDurationMs: 90_000 }, 10);
    expect(postponements.current).toMatchObject([{ minDurationMs: 90_000 }]);
  });

  it('begin anew with each that is added', () => {
    for (const spoken of ['english', null]) {
      postponements = new Postponements();
      postponements.add({ ...NOTE, spoken }, 10);
      jest.advanceTimersByTime(9_000);
      postponements.add({ ...NOTE, spoken, minDurationMs: 90_000 }, 10);
      jest.advanceTimersByTime(9_999);
      expect(postponements.current).toMatchObject([{ ...NOTE, spoken }]);
      jest.advanceTimersByTime(1);
      expect(postponements.current).toEqual([]);
    }
  });

  it('that are renewed are forgotten after those that are not', () => {
    for (let i = 0; i < 500; i++) postponements.add({ ...NOTE, accountId: `account ${i}` }, 10);
    postponements.add({ ...NOTE, accountId: 'account 0' }, 10);
    postponements.add({ ...NOTE, accountId: 'one more' }, 10);
    const accounts = postponements.current.map(({ accountId }) => accountId);
    expect([accounts.length, accounts[0]]).toEqual([500, 'account 2']);
  });

  it('are 500 at most, the latest', () => {
    for (let i = 0; i < 501; i++) postponements.add({ ...NOTE, accountId: `account ${i}` }, 10);
    const accounts = postponements.current.map(({ accountId }) => accountId);
    expect(accounts).toHaveLength(500);
    expect([accounts.at(0), accounts.at(-1)]).toEqual(['account 1', 'account 500']);
  });
});
