import type { ClaimedDelivery } from '../deliveries.queries.js';
import { ClaimAhead } from './claim-ahead.js';

describe('ClaimAhead', () => {
  let asked: number[];
  let due: number;
  let released: string[];
  let ahead: ClaimAhead;

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_800_000_000_000 });
    asked = [];
    due = Infinity;
    released = [];
    let made = 0;
    ahead = new ClaimAhead({
      claim: async (count) => {
        asked.push(count);
        const found = Math.min(count, due);
        return Array.from({ length: found }, () => ({ id: `${made++}` }) as ClaimedDelivery);
      },
      release: async ({ id }) => void released.push(id),
    });
  });
  afterEach(() => jest.useRealTimers());

  const take = async (count: number, lastAttemptMs: number) =>
    (await ahead.take(count, lastAttemptMs)).map(({ id }) => id).join(' ');

  it.each([
    [0, 16],
    [50, 16],
    [50.1, 3],
    [Infinity, 3],
  ])('after an attempt of %d ms claims %i for 3', async (lastAttemptMs, claimed) => {
    expect(await take(3, lastAttemptMs)).toBe('0 1 2');
    expect(asked).toEqual([claimed]);
  });

  it('claims again only when all that it claimed are taken', async () => {
    expect(await take(10, 1)).toBe('0 1 2 3 4 5 6 7 8 9');
    expect(await take(10, 1)).toBe('10 11 12 13 14 15');
    expect(asked).toEqual([16]);
    expect(await take(2, 1)).toBe('16 17');
    expect(asked).toEqual([16, 16]);
  });

  it('keeps what it claimed for 3 s, and releases it then', async () => {
    await take(14, 1);
    jest.advanceTimersByTime(3000);
    expect(await take(1, 1)).toBe('14');
    jest.advanceTimersByTime(1);
    expect(await take(1, 1)).toBe('16');
    expect(released).toEqual(['15']);
  });

  it('releases all when nothing can be sent, and claims nothing', async () => {
    await take(14, 1);
    expect(await take(0, 1)).toBe('');
    expect(released).toEqual(['14', '15']);
    expect(asked).toEqual([16]);
    expect(await take(0, 1)).toBe('');
    expect(asked).toEqual([16]);
  });

  it('gives none when none is due', async () => {
    due = 0;
    expect(await take(4, 1)).toBe('');
    expect(released).toEqual([]);
  });
});
