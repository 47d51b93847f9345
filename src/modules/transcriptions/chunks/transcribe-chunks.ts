import type { AudioChunk, ChunkTranscript } from '../engines/transcription-engine.js';
import { BYTES_PER_SECOND } from '../decoding/pcm.js';
import type { FairQueue } from './fair-queue.js';
import type { TranscribedChunk } from './transcript-joiner.js';

export interface ChunkTranscription {
  /** Where the pieces come from, in order; it ends when its signal is aborted. */
  pieces: (signal: AbortSignal) => AsyncIterable<AudioChunk>;
  hear: (piece: AudioChunk, signal: AbortSignal) => Promise<ChunkTranscript>;
  queue: FairQueue;
  signal: AbortSignal;
}

/**
 * Takes the pieces of one note as they come and lets them be heard side by side. At most one piece more than the queue
 * has places is held: then the source waits. The first failure ends the source and drops the pieces that wait.
 * @returns the transcripts in the order of the pieces
 */
export async function transcribeChunks({
  pieces,
  hear,
  queue,
  signal: outer,
}: ChunkTranscription): Promise<TranscribedChunk[]> {
  const failure = new AbortController();
  const signal = AbortSignal.any([outer, failure.signal]);
  const aborted = rejectionOf(signal);
  const lane = queue.lane();
  const heard: Promise<TranscribedChunk>[] = [];
  const underWay = new Set<Promise<unknown>>();
  const begin = (piece: AudioChunk): void => {
    const hearing = lane.run(async () => {
      signal.throwIfAborted();
      // Aborted before the place is given up: no other piece of this note takes it.
      const transcript = await hear(piece, signal).catch((error: unknown) => {
        failure.abort(error);
        throw error;
      });
      return { start: piece.start, seconds: piece.pcm.length / BYTES_PER_SECOND, transcript };
    });
    heard.push(hearing);
    const settled: Promise<unknown> = hearing.catch(() => undefined).then(() => underWay.delete(settled));
    underWay.add(settled);
  };
  try {
    for await (const piece of pieces(signal)) {
      begin(piece);
      if (underWay.size > queue.places) await Promise.race([...underWay, aborted]);
      signal.throwIfAborted();
    }
    return await Promise.race([Promise.all(heard), aborted]);
  } catch (error) {
    failure.abort(error);
    throw error;
  } finally {
    lane.close();
  }
}

/** Rejects with the signal's reason once it is aborted. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  const rejection = new Promise<never>((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  rejection.catch(() => undefined);
  return rejection;
}
