import { BYTES_PER_SECOND } from '../audio/pcm.js';
import type { AudioChunk, ChunkTranscript } from '../engines/transcription-engine.js';
import type { FairQueue } from '../../../platform/concurrency/fair-queue.js';
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
  /** Called with each result as soon as it and all before it are there. */
  onResult?: (chunk: TranscribedChunk) => void;
  signal: AbortSignal;
}

/**
 * Transcribes the chunks of one recording in parallel while they are being decoded. Holds at most one chunk that has no
 * slot yet; then the source waits. The first failure ends the source and drops the waiting chunk.
 * @returns the transcripts in the order of the chunks
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
  const results: Promise<TranscribedChunk>[] = [];
  let reported: Promise<unknown> = Promise.resolve();
  /** Resolves when the chunk has a slot. */
  const begin = async (chunk: AudioChunk): Promise<void> => {
    const seconds = chunk.pcm.length / BYTES_PER_SECOND;
    let started = (): void => undefined;
    const start = new Promise<void>((resolve) => {
      started = resolve;
    });
    const result = entry.run(async () => {
      started();
      signal.throwIfAborted();
      // Aborts before the slot is free again, so that no other chunk of this recording takes it.
      const transcript = await transcribe(chunk, signal).catch((error: unknown) => {
        failure.abort(error);
        throw error;
      });
      return { start: chunk.start, seconds, transcript };
    }, seconds);
    results.push(result);
    const before = reported;
    reported = result.then((chunkResult) => before.then(() => signal.aborted || onResult?.(chunkResult)));
    // A failure ends the recording below.
    reported.catch(() => undefined);
    await start;
  };
  try {
    for await (const chunk of chunks(signal)) {
      await Promise.race([begin(chunk), aborted]);
      signal.throwIfAborted();
    }
    return await Promise.race([Promise.all(results), aborted]);
  } catch (error) {
    failure.abort(error);
    throw error;
  } finally {
    forget();
    entry.leave();
  }
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
