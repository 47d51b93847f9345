import type { ChildModule } from './engine-child.js';
import { ChildPool } from './child-pool.js';

/** Processes that were started, the first first. Each loads until the test says how that ended. */
const started: FakeChild[] = [];

class FakeChild {
  isAlive = true;
  isReady = false;
  isIdle = true;
  closed = 0;
  readonly ready: Promise<void>;
  private settle = { works: (): void => undefined, fails: (error: Error): void => void error };

  constructor(
    readonly module: ChildModule,
    readonly sandbox: string,
  ) {
    this.ready = new Promise((works, fails) => (this.settle = { works, fails }));
    this.ready.catch(() => undefined);
    started.push(this);
  }

  async works(): Promise<void> {
    this.isReady = true;
    this.settle.works();
    await settled();
  }

  async fails(problem: string): Promise<void> {
    this.isAlive = this.isReady = this.isIdle = false;
    this.settle.fails(new Error(problem));
    await settled();
  }

  async transcribe(): Promise<object> {
    this.isIdle = false;
    await this.ready.finally(() => (this.isIdle = this.isAlive));
    return { text: `child ${started.indexOf(this)}` };
  }

  /** Takes as long as the test wants, if it wants so. */
  ended: Promise<void> = Promise.resolve();

  async close(): Promise<void> {
    this.closed++;
    await this.ended;
    this.isAlive = this.isReady = this.isIdle = false;
  }
}

jest.mock('./engine-child.js', () => ({
  get EngineChild() {
    return FakeChild;
  },
}));

const MODULE: ChildModule = { file: 'engine.js', reads: ['/'] };

const settled = () => new Promise(setImmediate);

describe('the starts of engine processes', () => {
  let pool: ChildPool;

  beforeEach(() => {
    jest.useFakeTimers({ now: 1_000_000, doNotFake: ['nextTick', 'setImmediate'] });
    started.length = 0;
    pool = new ChildPool(MODULE, 2);
  });
  afterEach(() => jest.useRealTimers());

  const ask = (): Promise<string> =>
    pool.transcribe(Buffer.of(1), 1000, new AbortController().signal).then(
      ({ text }) => text,
      (error: Error) => `${error.name}: ${error.message}`,
    );
  const last = (): FakeChild => started.at(-1)!;
  const wait = (seconds: number): void => jest.advanceTimersByTime(seconds * 1000);

  async function failToStart(problem = 'no library'): Promise<void> {
    const before = started.length;
    const answer = ask();
    await settled();
    expect(started).toHaveLength(before + 1);
    await last().fails(problem);
    expect(await answer).toContain(problem);
  }

  it('are 10 s apart after a failure, then as long as they have failed, up to 5 minutes', async () => {
    for (const seconds of [10, 10, 20, 40, 80, 160, 300, 300]) {
      await failToStart();
      const count = started.length;
      wait(seconds - 0.001);
      expect(await ask()).toBe('EngineUnavailableError: no library');
      expect(started).toHaveLength(count);
      wait(0.001);
    }
  });

  it('name the last problem while they wait', async () => {
    await failToStart('no library');
    wait(10);
    await failToStart('no model');
    expect(await ask()).toBe('EngineUnavailableError: no model');
  });

  it('are 10 s apart again once a process was ready', async () => {
    await failToStart();
    wait(10);
    await failToStart();
    wait(20);
    const answer = ask();
    await settled();
    await last().works();
    expect(await answer).toBe('child 2');
    last().isAlive = last().isIdle = false;
    await failToStart();
    wait(10);
    await failToStart();
  });

  it('wait for nothing once a process was ready, whatever another one did before', async () => {
    const answers = [ask(), ask()];
    await settled();
    const [first, second] = started;
    await first!.fails('no memory');
    await second!.works();
    expect(await Promise.all(answers)).toEqual([expect.stringContaining('no memory'), 'child 1']);
    second!.isAlive = second!.isIdle = false;
    await failToStart();
  });

  it('count as one failure when they were together', async () => {
    const answers = [ask(), ask()];
    await settled();
    expect(started).toHaveLength(2);
    await started[0]!.fails('no library');
    wait(5);
    await started[1]!.fails('another problem');
    await Promise.all(answers);
    expect(await ask()).toContain('another problem');
    wait(5);
    await failToStart();
    wait(9.999);
    expect(await ask()).toContain('no library');
  });

  it('are tried by a health check, whose answer is cached for 10 s', async () => {
    const problem = pool.problem();
    await settled();
    await last().fails('no library');
    expect(await problem).toBe('no library');
    wait(9.999);
    expect(await pool.problem()).toBe('no library');
    expect(started).toHaveLength(1);
    wait(0.001);
    const again = pool.problem();
    await settled();
    expect(started).toHaveLength(2);
    await last().works();
    expect(await again).toBeNull();
  });

  it('are no problem any more once a process is ready, whatever the last health check found', async () => {
    const problem = pool.problem();
    await settled();
    await last().fails('no library');
    expect(await problem).toBe('no library');
    wait(10);
    const answer = ask();
    await settled();
    await last().works();
    expect([await answer, await pool.problem()]).toEqual(['child 1', null]);
  });

  it('are no more than needed: a health check waits for a process that loads, and asks none that is ready', async () => {
    const answer = ask();
    await settled();
    const problem = pool.problem();
    await settled();
    expect(started).toHaveLength(1);
    await last().works();
    expect([await answer, await problem]).toEqual(['child 0', null]);
    wait(11);
    expect(await pool.problem()).toBeNull();
    expect(started).toHaveLength(1);
  });

  it('use the processes that are alive before another is started', async () => {
    const answers = [ask(), ask()];
    await settled();
    for (const child of started) await child.works();
    await Promise.all(answers);
    expect([await ask(), await ask()]).toEqual(['child 0', 'child 0']);
    started[0]!.isAlive = started[0]!.isIdle = started[0]!.isReady = false;
    expect(await pool.problem()).toBeNull();
    expect(await ask()).toBe('child 1');
    expect(started).toHaveLength(2);
  });

  it.each(['auto', 'required', 'off'] as const)('are in the sandbox that was asked for: %s', async (mode) => {
    pool = mode === 'auto' ? new ChildPool(MODULE, 1) : new ChildPool(MODULE, 1, mode);
    void ask();
    await settled();
    expect([last().module, last().sandbox]).toEqual([MODULE, mode]);
  });

  it('end with the pool, and none follows', async () => {
    const answers = [ask(), ask(), ask()];
    await settled();
    for (const child of started) await child.works();
    await Promise.all(answers);
    let end = (): void => undefined;
    last().ended = new Promise((resolve) => (end = resolve));
    let isClosed = false;
    const closing = pool.close().then(() => (isClosed = true));
    await settled();
    expect(await ask()).toBe('EngineError: The engine is closed');
    expect(isClosed).toBe(false);
    end();
    await closing;
    expect(started.map(({ closed }) => closed)).toEqual([1, 1]);
    const { signal } = new AbortController();
    await expect(pool.transcribe(Buffer.of(1), 1000, signal)).rejects.toMatchObject({ audioSuspected: false });
    wait(11);
    expect(await pool.problem()).toBe('The engine is closed');
    expect(started).toHaveLength(2);
  });

  it('do not happen for a chunk that was aborted', async () => {
    await expect(pool.transcribe(Buffer.of(1), 1000, AbortSignal.abort(new Error('deleted')))).rejects.toThrow(
      'deleted',
    );
    expect(started).toEqual([]);
  });
});
