import { FairQueue, type Lane } from './fair-queue.js';

/** Tasks that write down when they begin and end when told. */
class Bench {
  readonly begun: string[] = [];
  private readonly ends = new Map<string, () => void>();

  put(lane: Lane, ...names: string[]): void {
    for (const name of names) {
      void lane.run(() => {
        this.begun.push(name);
        return new Promise<void>((resolve) => this.ends.set(name, resolve));
      });
    }
  }

  async end(name: string): Promise<void> {
    await settled();
    this.ends.get(name)?.();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('PieceQueue', () => {
  it('lets one note use every place', async () => {
    const bench = new Bench();
    bench.put(new FairQueue(3).lane(), 'a1', 'a2', 'a3', 'a4');
    await settled();
    expect(bench.begun).toEqual(['a1', 'a2', 'a3']);
    await bench.end('a2');
    expect(bench.begun).toEqual(['a1', 'a2', 'a3', 'a4']);
  });

  it('lets a note that comes later wait for one piece, not for the whole note before it', async () => {
    const bench = new Bench();
    const queue = new FairQueue(1);
    bench.put(queue.lane(), 'long1', 'long2', 'long3');
    bench.put(queue.lane(), 'short');
    await bench.end('long1');
    expect(bench.begun).toEqual(['long1', 'short']);
  });

  it('gives turns to notes, whatever number of pieces each has waiting', async () => {
    const bench = new Bench();
    const queue = new FairQueue(1);
    bench.put(queue.lane(), 'a1', 'a2', 'a3');
    bench.put(queue.lane(), 'b1', 'b2');
    bench.put(queue.lane(), 'c1');
    for (const name of ['a1', 'b1', 'c1', 'a2', 'b2']) await bench.end(name);
    expect(bench.begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('frees the place of a task that fails', async () => {
    const lane = new FairQueue(1).lane();
    await expect(lane.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await expect(lane.run(() => Promise.resolve('yes'))).resolves.toBe('yes');
  });

  it('drops what waits in a closed lane and nothing else', async () => {
    const bench = new Bench();
    const queue = new FairQueue(1);
    const [closing, staying] = [queue.lane(), queue.lane()];
    bench.put(closing, 'a1', 'a2');
    bench.put(staying, 'b1');
    await settled();
    closing.close();
    await bench.end('a1');
    await bench.end('b1');
    expect(bench.begun).toEqual(['a1', 'b1']);
  });
});
