import type { SqlRunner } from '../../../platform/database/database.service.js';
import { RecordingLoader } from './recording-loader.js';

/** Has the recordings of the account `mine`; counts statements. */
class FakeRunner implements SqlRunner {
  readonly batches: string[][] = [];

  query(): Promise<never[]> {
    throw new Error('not used');
  }

  prepared<Row>(_: string, [accounts, ids]: unknown[]): Promise<Row[]> {
    this.batches.push(ids as string[]);
    const rows = (ids as string[]).map((id, i) => ({ position: i + 1, id, accountId: (accounts as string[])[i] }));
    return Promise.resolve(rows.filter(({ accountId }) => accountId === 'mine').toReversed() as Row[]);
  }
}

describe('RecordingLoader', () => {
  it('reads what is asked for together with one statement, and answers each in its place', async () => {
    const runner = new FakeRunner();
    const loader = new RecordingLoader(runner);
    const found = await Promise.all([loader.load('mine', 'a'), loader.load('theirs', 'b'), loader.load('mine', 'c')]);
    expect(found.map((recording) => recording?.id ?? null)).toEqual(['a', null, 'c']);
    expect(runner.batches).toEqual([['a', 'b', 'c']]);
  });

  it('reads again each time: nothing is cached', async () => {
    const runner = new FakeRunner();
    const loader = new RecordingLoader(runner);
    await loader.load('mine', 'a');
    await loader.load('mine', 'a');
    expect(runner.batches).toEqual([['a'], ['a']]);
  });

  it('reads at most 50 with one statement', async () => {
    const runner = new FakeRunner();
    const loader = new RecordingLoader(runner);
    await Promise.all(Array.from({ length: 60 }, (_, i) => loader.load('mine', `${i}`)));
    expect(runner.batches.map((batch) => batch.length)).toEqual([50, 10]);
  });
});
