import { setImmediate as turn } from 'node:timers/promises';
import type { FeedEvent, ReaderPosition } from './event-feed.service.js';
import { StreamReadLoop } from './event-stream.js';

class FakeStream {
  readonly sent: number[] = [];
  isBlocked = false;
  position = 0;

  constructor(readonly accountId: string) {}

  send(events: readonly FeedEvent[]): void {
    this.sent.push(...events.map(({ sequence }) => sequence));
    this.position = this.sent.at(-1) ?? this.position;
  }
}

const numbers = (count: number, from = 1): number[] => Array.from({ length: count }, (_, i) => from + i);

describe('StreamReadLoop', () => {
  let stored: number;
  let reads: ReaderPosition[][];
  let meanwhile: (() => void) | null;
  let failing: boolean;
  const warned: unknown[] = [];
  let loop: StreamReadLoop;

  beforeEach(() => {
    [stored, reads, meanwhile, failing] = [0, [], null, false];
    loop = new StreamReadLoop(async (readers, limit) => {
      reads.push([...readers]);
      if (failing) throw new Error('no connection');
      const found = readers.map(({ after }) => ({
        events: numbers(Math.max(0, Math.min(limit, stored - after)), after + 1).map(
          (sequence) => ({ sequence }) as FeedEvent,
        ),
        hasMore: stored - after > limit,
      }));
      await turn();
      meanwhile?.();
      meanwhile = null;
      return found;
    });
    Object.assign(loop, { logger: { warn: (fields: unknown) => warned.push(fields) } });
  });

  async function settled(): Promise<void> {
    for (let i = 0; i < 50; i++) await turn();
  }

  it('reads for all streams that are behind at once, and once for those at the same position', async () => {
    stored = 3;
    const streams = [new FakeStream('a'), new FakeStream('a'), new FakeStream('b')];
    loop.read(streams);
    await settled();
    expect(reads).toEqual([
      [
        { accountId: 'a', after: 0 },
        { accountId: 'b', after: 0 },
      ],
    ]);
    expect(streams.map(({ sent }) => sent)).toEqual([numbers(3), numbers(3), numbers(3)]);
  });

  it('goes on until a stream has everything', async () => {
    stored = 250;
    const stream = new FakeStream('a');
    loop.read([stream]);
    await settled();
    expect(stream.sent).toEqual(numbers(250));
    expect(reads).toHaveLength(3);
  });

  it('reads again for a signal that came while it was reading', async () => {
    stored = 1;
    const stream = new FakeStream('a');
    meanwhile = () => {
      stored = 2;
      loop.read([stream]);
    };
    loop.read([stream]);
    await settled();
    expect(stream.sent).toEqual([1, 2]);
  });

  it('reads nothing for a stream whose connection is full, until it has drained', async () => {
    stored = 500;
    const stream = new FakeStream('a');
    meanwhile = () => (stream.isBlocked = true);
    loop.read([stream]);
    await settled();
    loop.read([stream]);
    await settled();
    expect(stream.sent).toEqual(numbers(100));
    stream.isBlocked = false;
    loop.read([stream]);
    await settled();
    expect(stream.sent).toEqual(numbers(500));
  });

  it('serves more streams than one statement reads for, and forgets those that closed', async () => {
    stored = 1;
    const streams = numbers(120).map((i) => new FakeStream(`account ${i}`));
    loop.read(streams);
    const [closed] = streams.splice(110, 1) as [FakeStream];
    loop.forget(closed);
    await settled();
    expect(reads.map(({ length }) => length)).toEqual([50, 50, 19]);
    expect(streams.every(({ sent }) => sent.length === 1)).toBe(true);
    expect(closed.sent).toEqual([]);
  });

  it('survives a read that fails', async () => {
    [stored, failing] = [2, true];
    const stream = new FakeStream('a');
    loop.read([stream]);
    await settled();
    expect([stream.sent, warned.length]).toEqual([[], 1]);
    failing = false;
    loop.read([stream]);
    await settled();
    expect(stream.sent).toEqual([1, 2]);
  });
});
