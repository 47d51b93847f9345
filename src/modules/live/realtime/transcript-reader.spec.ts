import type { LiveSignal } from '../live-signals.js';
import { type FinalItem, TranscriptReader } from './transcript-reader.js';

const final = (item: number, text: string): FinalItem => ({ item, text, start: item, end: item + 0.5 });

describe('TranscriptReader', () => {
  let signal: (signal: LiveSignal | null) => void;
  let rows: FinalItem[];
  let asked: number[];
  let told: unknown[][];
  let reader: TranscriptReader;
  let unsubscribed: boolean;
  let failure: Error | null;
  let ended: boolean;
  let problem: string | null;

  beforeEach(() => {
    [rows, asked, told, unsubscribed, failure] = [[], [], [], false, null];
    [ended, problem] = [false, null];
    reader = new TranscriptReader(
      {
        subscribe: (listener) => {
          signal = listener;
          return () => (unsubscribed = true);
        },
        read: async (fromItem) => {
          asked.push(fromItem);
          if (failure) throw failure;
          return { finals: rows.filter(({ item }) => item >= fromItem), ended, problem };
        },
        onReadError: () => told.push(['error']),
      },
      {
        speechStarted: (item, at) => told.push(['started', item, at]),
        speechStopped: (item, at) => told.push(['stopped', item, at]),
        delta: (item, text) => told.push(['delta', item, text]),
        final: ({ item, text }) => told.push(['final', item, text]),
        problem: (message) => told.push(['problem', message]),
      },
    );
  });
  afterEach(() => reader.close());

  const delta = (item: number, offset: number, text: string): LiveSignal => ({
    type: 'delta',
    item,
    offset,
    text,
    words: [],
  });

  it('tells an item from its beginning to its final text', () => {
    signal({ type: 'speech_started', item: 0, at: 0.2 });
    signal(delta(0, 0, 'go'));
    signal(delta(0, 2, ' forward'));
    signal({ type: 'speech_stopped', item: 0, at: 1.5 });
    signal({ type: 'final', ...final(0, 'go forward ten') });
    expect(told).toEqual([
      ['started', 0, 0.2],
      ['delta', 0, 'go'],
      ['delta', 0, ' forward'],
      ['stopped', 0, 1.5],
      ['delta', 0, ' ten'],
      ['final', 0, 'go forward ten'],
    ]);
  });

  it('tells everything once, whatever is repeated, late or lost', async () => {
    signal(delta(0, 0, 'go'));
    signal(delta(0, 0, 'go'));
    signal(delta(0, 5, 'lost before'));
    signal({ type: 'final', ...final(0, 'stop') });
    signal({ type: 'final', ...final(0, 'stop') });
    signal(delta(0, 4, ' late'));
    rows = [final(0, 'stop'), final(1, 'missed')];
    signal(null);
    await reader.readFinals();
    signal({ type: 'final', ...final(1, 'missed') });
    expect(told).toEqual([
      ['delta', 0, 'go'],
      ['started', 0, 0],
      ['stopped', 0, 0.5],
      ['final', 0, 'stop'],
      ['started', 1, 1],
      ['stopped', 1, 1.5],
      ['delta', 1, 'missed'],
      ['final', 1, 'missed'],
    ]);
  });

  it('reads what is after the last final without a gap', async () => {
    signal({ type: 'final', ...final(0, 'a') });
    signal({ type: 'final', ...final(2, 'c') });
    await reader.readFinals();
    rows = [final(1, 'b'), final(2, 'c')];
    await reader.readFinals();
    await reader.readFinals();
    expect(asked).toEqual([1, 1, 3]);
    expect(told.filter(([kind]) => kind === 'final')).toEqual([
      ['final', 0, 'a'],
      ['final', 2, 'c'],
      ['final', 1, 'b'],
    ]);
  });

  it('is finished once the stored finals were told', async () => {
    rows = [final(0, 'last')];
    signal({ type: 'finished' });
    await reader.finished;
    expect(told.at(-1)).toEqual(['final', 0, 'last']);
  });

  it('learns from what is stored that nothing follows, and why', async () => {
    [ended, problem] = [true, 'no engine'];
    signal(null);
    await reader.finished;
    expect(told).toEqual([['problem', 'no engine']]);
  });

  it('tells one problem, and survives a read that fails', async () => {
    signal({ type: 'problem', message: 'no engine' });
    signal({ type: 'problem', message: 'no engine' });
    failure = new Error('no connection');
    await reader.readFinals();
    failure = null;
    await reader.readFinals();
    expect(told).toEqual([['problem', 'no engine'], ['error']]);
    reader.close();
    expect(unsubscribed).toBe(true);
  });
});
