import type { AudioChunk, ChunkTranscript } from '../engines/transcription-engine.js';
import { transcribeChunks } from './transcribe-chunks.js';
import { FairQueue } from '../../../platform/concurrency/fair-queue.js';
import type { TranscribedChunk } from './join-transcripts.js';

const SECOND_OF_SILENCE = Buffer.alloc(32_000);
const chunkAt = (start: number): AudioChunk => ({ start, pcm: SECOND_OF_SILENCE });
const transcriptOf = (text: string): ChunkTranscript => ({ text, confidence: 1, language: 'english', words: [] });
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A source that counts the chunks taken from it and records its end. */
class Source {
  taken = 0;
  ended = false;

  async *chunks(count: number, signal: AbortSignal): AsyncGenerator<AudioChunk> {
    try {
      for (let start = 0; start < count; start++) {
        this.taken++;
        yield chunkAt(start);
        await tick();
        signal.throwIfAborted();
      }
    } finally {
      this.ended = true;
    }
  }
}

describe('transcribeChunks', () => {
  const run = (options: {
    source: Source;
    count: number;
    transcribe: (chunk: AudioChunk) => Promise<ChunkTranscript>;
    queue?: FairQueue;
    signal?: AbortSignal;
    onResult?: (chunk: TranscribedChunk) => void;
  }) =>
    transcribeChunks({
      chunks: (signal) => options.source.chunks(options.count, signal),
      transcribe: options.transcribe,
      queue: options.queue ?? new FairQueue(2),
      accountId: 'a',
      ...(options.onResult ? { onResult: options.onResult } : {}),
      signal: options.signal ?? new AbortController().signal,
    });

  it('keeps the order of the chunks, whichever is transcribed first', async () => {
    const transcribe = async ({ start }: AudioChunk) => {
      for (let waited = start; waited < 5; waited++) await tick();
      return transcriptOf(String(start));
    };
    const transcripts = await run({ source: new Source(), count: 6, transcribe, queue: new FairQueue(3) });
    expect(transcripts.map(({ start, seconds, transcript }) => [start, seconds, transcript.text])).toEqual(
      [0, 1, 2, 3, 4, 5].map((start) => [start, 1, String(start)]),
    );
  });

  it('leaves nothing behind on a signal that lives longer: the signal would keep every transcript', async () => {
    const listening = new Map<EventTarget, number>();
    const count = (by: number) =>
      function (this: EventTarget): void {
        listening.set(this, (listening.get(this) ?? 0) + by);
      };
    const added = jest.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(count(1));
    const removed = jest.spyOn(EventTarget.prototype, 'removeEventListener').mockImplementation(count(-1));
    try {
      const transcribe = async () => transcriptOf('a');
      await run({ source: new Source(), count: 3, transcribe });
      const failing = run({ source: new Source(), count: 3, transcribe: () => Promise.reject(new Error('broken')) });
      await expect(failing).rejects.toThrow('broken');
      expect([...listening.values()]).toEqual([0, 0]);
    } finally {
      added.mockRestore();
      removed.mockRestore();
    }
  });

  it('reports each result in order, as soon as all before it are there', async () => {
    const reported: string[] = [];
    const ends = new Map<number, () => void>();
    const transcribe = ({ start }: AudioChunk) =>
      new Promise<ChunkTranscript>((resolve) => ends.set(start, () => resolve(transcriptOf(String(start)))));
    const onResult = ({ transcript }: TranscribedChunk) => void reported.push(transcript.text);
    const running = run({ source: new Source(), count: 3, transcribe, queue: new FairQueue(3), onResult });
    while (ends.size < 3) await tick();
    ends.get(1)?.();
    await tick();
    expect(reported).toEqual([]);
    ends.get(0)?.();
    await tick();
    expect(reported).toEqual(['0', '1']);
    ends.get(2)?.();
    await running;
    expect(reported).toEqual(['0', '1', '2']);
  });

  it('reports nothing after a failure', async () => {
    const reported: string[] = [];
    const transcribe = async ({ start }: AudioChunk) => {
      if (start === 0) throw new Error('no');
      return transcriptOf(String(start));
    };
    const onResult = ({ transcript }: TranscribedChunk) => void reported.push(transcript.text);
    await expect(run({ source: new Source(), count: 3, transcribe, onResult })).rejects.toThrow('no');
    await tick();
    expect(reported).toEqual([]);
  });

  it('stops taking chunks while it holds one more than there are slots', async () => {
    const source = new Source();
    const ends: (() => void)[] = [];
    const transcribe = () => new Promise<ChunkTranscript>((resolve) => ends.push(() => resolve(transcriptOf('x'))));
    const running = run({ source, count: 10, transcribe });
    for (let i = 0; i < 20; i++) await tick();
    expect(source.taken).toBe(3);
    ends.shift()?.();
    for (let i = 0; i < 20; i++) await tick();
    expect(source.taken).toBe(4);
    const finish = setInterval(() => ends.shift()?.(), 1);
    await expect(running).resolves.toHaveLength(10);
    clearInterval(finish);
  });

  it('ends with the first failure: the source stops and waiting chunks are dropped', async () => {
    const source = new Source();
    const started: number[] = [];
    const transcribe = async ({ start }: AudioChunk) => {
      started.push(start);
      await tick();
      throw new Error(`chunk ${start}`);
    };
    await expect(run({ source, count: 10, transcribe, queue: new FairQueue(1) })).rejects.toThrow('chunk 0');
    expect(source.ended).toBe(true);
    await tick();
    expect(started).toEqual([0]);
  });

  it('fails with the error of the source', async () => {
    const chunks = async function* (): AsyncGenerator<AudioChunk> {
      yield chunkAt(0);
      throw new Error('not decodable');
    };
    const transcribe = () => Promise.resolve(transcriptOf('x'));
    const running = transcribeChunks({
      chunks,
      transcribe,
      queue: new FairQueue(1),
      accountId: 'a',
      signal: new AbortController().signal,
    });
    await expect(running).rejects.toThrow('not decodable');
  });

  it('ends immediately when aborted, even before its first chunk had a turn', async () => {
    const queue = new FairQueue(1);
    void queue.join().run(() => new Promise(() => undefined));
    const stop = new AbortController();
    const running = run({
      source: new Source(),
      count: 5,
      transcribe: () => Promise.resolve(transcriptOf('x')),
      queue,
      signal: stop.signal,
    });
    await tick();
    stop.abort(new Error('deleted'));
    await expect(running).rejects.toThrow('deleted');
  });

  it('returns nothing for a recording without chunks', async () => {
    await expect(
      run({ source: new Source(), count: 0, transcribe: () => Promise.resolve(transcriptOf('x')) }),
    ).resolves.toEqual([]);
  });

  it('takes nothing from its source when it is aborted before, and no chunk after that has a turn', async () => {
    const started: number[] = [];
    const transcribe = async ({ start }: AudioChunk) => {
      started.push(start);
      return transcriptOf('x');
    };
    const signal = AbortSignal.abort(new Error('deleted'));
    await expect(run({ source: new Source(), count: 3, transcribe, signal })).rejects.toThrow('deleted');
    const queue = new FairQueue(1);
    let end = (): void => undefined;
    void queue.join('other').run(() => new Promise<void>((resolve) => (end = resolve)));
    const stop = new AbortController();
    const waiting = run({ source: new Source(), count: 3, transcribe, queue, signal: stop.signal });
    await tick();
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    end();
    await tick();
    expect(started).toEqual([]);
  });

  it('reports nothing of a recording that was given up, though a chunk of it is finished', async () => {
    const stop = new AbortController();
    const reported: TranscribedChunk[] = [];
    let end = (): void => undefined;
    const transcribe = () =>
      new Promise<ChunkTranscript>((resolve) => {
        end = () => resolve(transcriptOf('late'));
      });
    const onResult = (chunk: TranscribedChunk) => void reported.push(chunk);
    const running = run({ source: new Source(), count: 1, transcribe, signal: stop.signal, onResult });
    await tick();
    stop.abort(new Error('deleted'));
    await expect(running).rejects.toThrow('deleted');
    end();
    await tick();
    expect(reported).toEqual([]);
  });

  it.each([null, new Error('crashed')])(
    'joins the queue once, at the cost of its seconds, and leaves it: %s',
    async (error) => {
      const joined: unknown[] = [];
      const costs: (number | undefined)[] = [];
      let left = 0;
      const queue = new FairQueue(1);
      jest.spyOn(queue, 'join').mockImplementation((...account) => {
        joined.push(account);
        return { run: (task, cost) => (costs.push(cost), task()), leave: () => void left++ };
      });
      const running = transcribeChunks({
        async *chunks() {
          yield chunkAt(0);
          yield { start: 1, pcm: Buffer.alloc(48_000) };
        },
        transcribe: async () => {
          expect(left).toBe(0);
          if (error) throw error;
          return transcriptOf('a');
        },
        queue,
        accountId: 'a',
        isBackground: true,
        signal: new AbortController().signal,
      });
      await (error ? expect(running).rejects.toBe(error) : expect(running).resolves.toHaveLength(2));
      expect([joined, left]).toEqual([[['a', true]], 1]);
      expect(costs.slice(0, 2)).toEqual(error ? [1] : [1, 1.5]);
    },
  );
});
