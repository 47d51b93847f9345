import { BYTES_PER_SECOND } from '../audio/pcm.js';
import type { AudioChunk, ChunkTranscript } from '../engines/transcription-engine.js';
import type { FairQueue, QueueEntry } from '../../../platform/concurrency/fair-queue.js';
import { traces } from '../../../platform/observability/traces/traces.js';
import { SeamJoiner } from './join-seams.js';
import type { TranscribedChunk } from './join-transcripts.js';

export interface ChunkSource {
  /** The chunks of one recording, in order. The iteration must end when its signal is aborted. */
  chunks: (signal: AbortSignal) => AsyncIterable<AudioChunk>;
  transcribe: (chunk: AudioChunk, signal: AbortSignal) => Promise<ChunkTranscript>;
  queue: FairQueue;
  /** Whose share of the queue they use. */
  accountId: string;
  /** Behind all others. */
  isBackground?: boolean;
  /** Called with each result as soon as it and all before it are there; and the next, where that overlaps with it. */
  onResult?: (chunk: TranscribedChunk) => void;
  signal: AbortSignal;
}

/**
 * Transcribes the chunks of one recording in parallel while they are being decoded. Holds at most one chunk that has no
 * slot yet; then the source waits. The first failure ends the source and drops the waiting chunk.
 * @returns the transcripts in the order of the chunks, without what two of them have in common
 */
export async function transcribeChunks({
  chunks,
  transcribe,
  queue,
  accountId,
  isBackground,
  onResult,
  signal: outer,
}: ChunkSource): Promise<TranscribedChunk[]> {
  const failure = new AbortController();
  const signal = AbortSignal.any([outer, failure.signal]);
  const { aborted, forget } = rejectionOf(signal);
  const entry = queue.join(accountId, isBackground);
  // A slot is given by the recording that has held it, in the trace of that.
  const inTrace = traces.bind();
  const run = async (chunk: AudioChunk): Promise<TranscribedChunk> => {
    signal.throwIfAborted();
    // Aborts before the slot is free again, so that no other chunk of this recording takes it.
    const transcript = await transcribe(chunk, signal).catch((error: unknown) => {
      failure.abort(error);
      throw error;
    });
    const { start, continues } = chunk;
    return { start, seconds: secondsOf(chunk), transcript, ...(continues && { continues }) };
  };
  const seams = new SeamJoiner();
  const results: TranscribedChunk[] = [];
  const finish = (finished: readonly TranscribedChunk[]): void => {
    results.push(...finished);
    if (!signal.aborted) for (const chunk of finished) onResult?.(chunk);
  };
  const report = async (result: Promise<TranscribedChunk>, before: Promise<unknown> | undefined): Promise<void> => {
    const chunk = await result;
    await before;
    finish(seams.add(chunk));
  };
  const reported: Promise<void>[] = [];
  try {
    for await (const chunk of chunks(signal)) {
      const { taken, result } = takeSlot(entry, secondsOf(chunk), () => inTrace(() => run(chunk)));
      reported.push(report(result, reported.at(-1)));
      // A failure ends the recording below.
      reported.at(-1)?.catch(() => undefined);
      await Promise.race([taken, aborted]);
      signal.throwIfAborted();
    }
    await Promise.race([Promise.all(reported), aborted]);
    finish(seams.end());
    return results;
  } catch (error) {
    failure.abort(error);
    throw error;
  } finally {
    forget();
    entry.leave();
  }
}

const secondsOf = ({ pcm }: AudioChunk): number => pcm.length / BYTES_PER_SECOND;

/** Runs the task when it is its turn. `taken` resolves as it begins. Neither settles for a task that is dropped. */
function takeSlot<T>(
  entry: QueueEntry,
  cost: number,
  task: () => Promise<T>,
): { taken: Promise<void>; result: Promise<T> } {
  let begin = (): void => undefined;
  const taken = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const result = entry.run(async () => {
    begin();
    return await task();
  }, cost);
  return { taken, result };
}

/**
 * `aborted` rejects with the signal's reason once it is aborted. Without `forget` Node keeps a signal made by
 * `AbortSignal.any`, and with it all results, until the process ends.
 */
function rejectionOf(signal: AbortSignal): { aborted: Promise<never>; forget: () => void } {
  let forget = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    forget = () => signal.removeEventListener('abort', abort);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  aborted.catch(() => undefined);
  return { aborted, forget };
}
