import { Logger } from '@nestjs/common';
import type { DatabaseService } from '../../platform/database/database.service.js';
import type { TranscriptSignal, TranscriptSignalsService } from '../transcriptions/transcript-signals.service.js';
import { RecordingEndsService } from './recording-ends.service.js';

type Listener = (signal: TranscriptSignal | null) => void;

describe('RecordingEndsService', () => {
  /** The ids that each statement asked for. */
  let statements: string[][];
  let processing: Set<string>;
  let failing: boolean;
  let listeners: Map<string, Set<Listener>>;
  let ends: RecordingEndsService;

  beforeAll(() => Logger.overrideLogger(false));

  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance'] });
    statements = [];
    processing = new Set(['a', 'b']);
    failing = false;
    listeners = new Map();
    const database = {
      prepared: async (_sql: string, [ids]: [string[]]) => {
        statements.push(ids);
        if (failing) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
        return ids.filter((id) => processing.has(id)).map((id) => ({ id }));
      },
    };
    const signals = {
      subscribe(id: string, listener: Listener) {
        listeners.set(id, (listeners.get(id) ?? new Set()).add(listener));
        return () => listeners.get(id)?.delete(listener);
      },
    };
    ends = new RecordingEndsService(
      database as unknown as DatabaseService,
      signals as unknown as TranscriptSignalsService,
    );
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      await jest.advanceTimersByTimeAsync(1000);
      await turn();
    }
  };
  const signal = async (id: string, message: TranscriptSignal | null) => {
    for (const listener of listeners.get(id) ?? []) listener(message);
    await turn();
    await turn();
  };
  const never = new AbortController().signal;

  it('ends a wait as soon as a signal says so and the row agrees', async () => {
    const ended = ends.waitForEnd('a', never);
    await signal('a', { type: 'end' });
    expect(statements).toEqual([['a']]);
    processing.delete('a');
    await signal('a', { type: 'end' });
    await ended;
    expect(statements).toEqual([['a'], ['a']]);
    expect(listeners.get('a')?.size).toBe(0);
  });

  it('looks at once when signals may have been missed, and by itself every 2 s', async () => {
    const ended = ends.waitForEnd('a', never);
    await signal('a', null);
    expect(statements).toHaveLength(1);
    await pass(120);
    expect(statements).toHaveLength(1 + 60);
    processing.delete('a');
    await pass(5);
    await ended;
    const before = statements.length;
    await pass(60);
    expect(statements).toHaveLength(before);
  });

  it('needs one statement for any number of waits', async () => {
    const waits = Array.from({ length: 1000 }, (_, i) => ends.waitForEnd(i % 2 === 0 ? 'a' : 'b', never));
    await signal('a', null);
    await pass(60);
    expect(statements).toHaveLength(1 + 30);
    expect(statements.every((ids) => ids.length <= 2)).toBe(true);
    processing.clear();
    await pass(5);
    await Promise.all(waits);
  });

  it('goes on while Postgres is unavailable', async () => {
    failing = true;
    let isOver = false;
    const ended = ends.waitForEnd('a', never).then(() => (isOver = true));
    await pass(20);
    expect(isOver).toBe(false);
    failing = false;
    processing.delete('a');
    await pass(5);
    await ended;
  });

  it('passes on chunks, and leaves nothing behind when it is aborted', async () => {
    const started = jest.spyOn(globalThis, 'setInterval');
    const cleared = jest.spyOn(globalThis, 'clearInterval');
    const leaving = new AbortController();
    const heard: string[] = [];
    const ended = ends.waitForEnd('a', leaving.signal, ({ text }) => heard.push(text));
    const chunk = { type: 'chunk', attempt: 1, offset: 0, text: 'one', provider: 'x', model: 'y' } as const;
    await signal('a', chunk);
    leaving.abort(new Error('client disconnected'));
    await expect(ended).rejects.toThrow('client disconnected');
    await signal('a', chunk);
    expect(heard).toEqual(['one']);
    expect(listeners.get('a')?.size).toBe(0);
    expect(statements).toEqual([]);
    expect(started).toHaveBeenCalledTimes(1);
    expect(cleared).toHaveBeenCalledWith(started.mock.results[0]?.value);
  });
});
