import type { AudioChunk, ChunkTranscript } from '../engines/transcription-engine.js';
import { transcribeChunks } from './transcribe-chunks.js';
import { FairQueue } from './fair-queue.js';

const SECOND_OF_SILENCE = Buffer.alloc(32_000);
const pieceAt = (start: number): AudioChunk => ({ start, pcm: SECOND_OF_SILENCE });
const said = (text: string): ChunkTranscript => ({ text, confidence: 1, language: 'english', words: [] });
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A source that counts what is taken from it and notices its end. */
class Source {
  taken = 0;
  ended = false;

  async *pieces(count: number, signal: AbortSignal): AsyncGenerator<AudioChunk> {
    try {
      for (let start = 0; start < count; start++) {
        this.taken++;
        yield pieceAt(start);
        await tick();
        signal.throwIfAborted();
      }
    } finally {
      this.ended = true;
    }
  }
}

describe('hearPieces', () => {
  const listen = (options: {
    source: Source;
    count: number;
    hear: (piece: AudioChunk) => Promise<ChunkTranscript>;
    queue?: FairQueue;
    signal?: AbortSignal;
  }) =>
    transcribeChunks({
      pieces: (signal) => options.source.pieces(options.count, signal),
      hear: options.hear,
      queue: options.queue ?? new FairQueue(2),
      signal: options.signal ?? new AbortController().signal,
    });

  it('keeps the order of the pieces, whichever is heard first', async () => {
    const hear = async ({ start }: AudioChunk) => {
      for (let waited = start; waited < 5; waited++) await tick();
      return said(String(start));
    };
    const heard = await listen({ source: new Source(), count: 6, hear, queue: new FairQueue(3) });
    expect(heard.map(({ start, seconds, transcript }) => [start, seconds, transcript.text])).toEqual(
      [0, 1, 2, 3, 4, 5].map((start) => [start, 1, String(start)]),
    );
  });

  it('stops taking pieces while one more than there are places is held', async () => {
    const source = new Source();
    const ends: (() => void)[] = [];
    const hear = () => new Promise<ChunkTranscript>((resolve) => ends.push(() => resolve(said('x'))));
    const listening = listen({ source, count: 10, hear });
    for (let i = 0; i < 20; i++) await tick();
    expect(source.taken).toBe(3);
    ends.shift()?.();
    for (let i = 0; i < 20; i++) await tick();
    expect(source.taken).toBe(4);
    const finish = setInterval(() => ends.shift()?.(), 1);
    await expect(listening).resolves.toHaveLength(10);
    clearInterval(finish);
  });

  it('ends with the first failure: the source stops and waiting pieces are dropped', async () => {
    const source = new Source();
    const started: number[] = [];
    const hear = async ({ start }: AudioChunk) => {
      started.push(start);
      await tick();
      throw new Error(`piece ${start}`);
    };
    await expect(listen({ source, count: 10, hear, queue: new FairQueue(1) })).rejects.toThrow('piece 0');
    expect(source.ended).toBe(true);
    await tick();
    expect(started).toEqual([0]);
  });

  it('gives the failure of the source', async () => {
    const pieces = async function* (): AsyncGenerator<AudioChunk> {
      yield pieceAt(0);
      throw new Error('not decodable');
    };
    const hear = () => Promise.resolve(said('x'));
    const listening = transcribeChunks({ pieces, hear, queue: new FairQueue(1), signal: new AbortController().signal });
    await expect(listening).rejects.toThrow('not decodable');
  });

  it('ends at once when it is aborted, although no piece of it had its turn', async () => {
    const queue = new FairQueue(1);
    void queue.lane().run(() => new Promise(() => undefined));
    const stop = new AbortController();
    const listening = listen({
      source: new Source(),
      count: 5,
      hear: () => Promise.resolve(said('x')),
      queue,
      signal: stop.signal,
    });
    await tick();
    stop.abort(new Error('deleted'));
    await expect(listening).rejects.toThrow('deleted');
  });

  it('has nothing to say about nothing', async () => {
    await expect(listen({ source: new Source(), count: 0, hear: () => Promise.resolve(said('x')) })).resolves.toEqual(
      [],
    );
  });
});
