import { setTimeout as delay } from 'node:timers/promises';
import type { LiveRecordingsService } from '../live-recordings.service.js';
import type { LiveSignalsService } from '../live-signals.service.js';

/** Looks for audio this often, whatever the signals say. */
const POLL_MS = 500;
/** Parts that come faster are read together. */
const BETWEEN_READS_MS = 40;
const MAX_BYTES = 256 * 1024;

/** The audio of a live recording as it is stored, from a byte on, up to its end. @throws the signal's reason */
export async function* readLiveAudio(
  recordings: Pick<LiveRecordingsService, 'read'>,
  signals: Pick<LiveSignalsService, 'onAudio'>,
  { recordingId, fromByte, signal }: { recordingId: string; fromByte: number; signal: AbortSignal },
): AsyncGenerator<Buffer> {
  let wake = (): void => undefined;
  let signalled = false;
  const unsubscribe = signals.onAudio(recordingId, () => {
    signalled = true;
    wake();
  });
  const wait = async (): Promise<void> => {
    if (signalled) return;
    const stop = new AbortController();
    wake = () => stop.abort();
    await delay(POLL_MS, undefined, { signal: AbortSignal.any([signal, stop.signal]) }).catch(() => undefined);
  };
  let position = fromByte;
  try {
    for (;;) {
      signal.throwIfAborted();
      signalled = false;
      const { audio, ended } = await recordings.read(recordingId, position, MAX_BYTES);
      position += audio.length;
      if (audio.length > 0) yield audio;
      else if (ended) return;
      else await wait();
      if (audio.length > 0 && audio.length < MAX_BYTES) await delay(BETWEEN_READS_MS);
    }
  } finally {
    unsubscribe();
  }
}
