import { FairQueue, type QueueEntry } from './fair-queue.js';

/** Tasks that record their start and end on request. */
class Tasks {
  readonly started: string[] = [];
  private readonly ends = new Map<string, () => void>();

  add(entry: QueueEntry, ...names: string[]): void {
    this.addCosting(1, entry, ...names);
  }

  addCosting(cost: number, entry: QueueEntry, ...names: string[]): void {
    for (const name of names) {
      void entry.run(() => {
        this.started.push(name);
        return new Promise<void>((resolve) => this.ends.set(name, resolve));
      }, cost);
    }
  }

  async end(name: string): Promise<void> {
    await settled();
    this.ends.get(name)?.();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('FairQueue', () => {
  it('gives one recording every slot', async () => {
    const tasks = new Tasks();
    tasks.add(new FairQueue(3).join(), 'a1', 'a2', 'a3', 'a4');
    await settled();
    expect(tasks.started).toEqual(['a1', 'a2', 'a3']);
    await tasks.end('a2');
    expect(tasks.started).toEqual(['a1', 'a2', 'a3', 'a4']);
  });

  it('makes a later recording wait for one chunk, not for the whole recording before it', async () => {
    const tasks = new Tasks();
    const queue = new FairQueue(1);
    tasks.add(queue.join(), 'long1', 'long2', 'long3');
    tasks.add(queue.join(), 'short');
    await tasks.end('long1');
    expect(tasks.started).toEqual(['long1', 'short']);
  });

  it('serves recordings in turn, however many chunks each has waiting', async () => {
    const tasks = new Tasks();
    const queue = new FairQueue(1);
    tasks.add(queue.join(), 'a1', 'a2', 'a3');
    tasks.add(queue.join(), 'b1', 'b2');
    tasks.add(queue.join(), 'c1');
    for (const name of ['a1', 'b1', 'c1', 'a2', 'b2']) await tasks.end(name);
    expect(tasks.started).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('shares the slots by cost between accounts, however many recordings each has', async () => {
    const tasks = new Tasks();
    const queue = new FairQueue(1);
    const many = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'];
    for (const name of many) tasks.addCosting(1, queue.join('a'), name);
    tasks.addCosting(3, queue.join('b'), 'b1', 'b2');
    for (const name of ['a1', 'b1', 'a2', 'a3', 'b2', 'a4', 'a5']) await tasks.end(name);
    expect(tasks.started).toEqual(['a1', 'b1', 'a2', 'a3', 'b2', 'a4', 'a5', 'a6']);
  });

  it('starts the background only when nothing else waits, and leaves a slot free for others', async () => {
    const tasks = new Tasks();
    const queue = new FairQueue(2);
    tasks.add(queue.join('old', true), 'old1', 'old2', 'old3');
    await settled();
    expect(tasks.started).toEqual(['old1']);
    tasks.add(queue.join('a'), 'a1', 'a2');
    await tasks.end('old1');
    expect(tasks.started).toEqual(['old1', 'a1', 'a2']);
    await tasks.end('a1');
    expect(tasks.started).toEqual(['old1', 'a1', 'a2', 'old2']);

    const single = new FairQueue(1);
    tasks.add(single.join('old', true), 'lone');
    await settled();
    expect(tasks.started.at(-1)).toBe('lone');
  });

  it('gives an account no credit for the time in which it had nothing to do', async () => {
    const tasks = new Tasks();
    const queue = new FairQueue(1);
    const idle = queue.join('idle');
    tasks.add(queue.join('busy'), 'a1', 'a2', 'a3', 'a4', 'a5', 'a6');
    for (const name of ['a1', 'a2', 'a3']) await tasks.end(name);
    tasks.add(idle, 'b1', 'b2', 'b3');
    for (const name of ['a4', 'b1', 'a5', 'b2']) await tasks.end(name);
    expect(tasks.started).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'a5', 'b2', 'a6']);
  });

  it('frees the slot of a task that fails', async () => {
    const entry = new FairQueue(1).join();
    await expect(entry.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(entry.run(() => Promise.resolve('yes'))).resolves.toBe('yes');
  });

  it('drops only the waiting tasks of the entry that leaves', async () => {
    const tasks = new Tasks();
    const queue = new FairQueue(1);
    const [leaving, staying] = [queue.join(), queue.join()];
    tasks.add(leaving, 'a1', 'a2');
    tasks.add(staying, 'b1');
    await settled();
    leaving.leave();
    await tasks.end('a1');
    await tasks.end('b1');
    expect(tasks.started).toEqual(['a1', 'b1']);
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [5, 4],
  ])('of %s slots gives the background %s, also after others have had them', async (slots, count) => {
    const tasks = new Tasks();
    const queue = new FairQueue(slots);
    tasks.add(queue.join('a'), 'a1', 'a2');
    await tasks.end('a1');
    await tasks.end('a2');
    tasks.add(queue.join('b', true), 'b1', 'b2', 'b3', 'b4', 'b5', 'b6');
    await settled();
    expect(tasks.started.slice(2)).toHaveLength(count);
  });

  it('takes a task without a cost for one that costs 1', async () => {
    const started: string[] = [];
    const queue = new FairQueue(1);
    const [one, other] = [queue.join('one'), queue.join('other')];
    const tasks = ['one1', 'one2', 'one3'].map((name) => one.run(async () => void started.push(name)));
    const others = ['other1', 'other2', 'other3'].map((name) => other.run(async () => void started.push(name), 1));
    await Promise.all([...tasks, ...others]);
    expect(started).toEqual(['one1', 'other1', 'one2', 'other2', 'one3', 'other3']);
  });
});
