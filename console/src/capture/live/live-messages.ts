/** What the service says on a WebSocket of a recording that is being made. Bytes and seconds count from its beginning. */
export type LiveMessage =
  | { type: 'started'; recording_id: string }
  /** To the next connection with the same recording. */
  | { type: 'resumed'; recording_id: string; stored_bytes: number }
  /** So many bytes are durable. */
  | { type: 'stored'; bytes: number }
  | { type: 'speech_started' | 'speech_stopped'; item: number; at: number }
  /** Words that stay as they are are added to an utterance. */
  | { type: 'partial'; item: number; text: string }
  /** All words of an utterance. They may differ from what was added. */
  | { type: 'final'; item: number; text: string }
  /** Why there are no words. The recording goes on. */
  | { type: 'problem'; message: string }
  | { type: 'ended'; reason: string }
  /** Why the connection is closed next. */
  | { type: 'error'; error: { message: string } };

export const FINISH = JSON.stringify({ type: 'finish' });

/** Null for what is none. */
export function messageOf(data: unknown): LiveMessage | null {
  if (typeof data !== 'string') return null;
  try {
    return JSON.parse(data) as LiveMessage;
  } catch {
    return null;
  }
}

/** The service closes with a code from here on when it has a reason of its own. */
const OWN_CODES = 4000;
/** After these the recording goes on with another connection: no audio came, or its messages were not read. */
const PASSING_CODES = new Set([4008, 4013]);

/** Whether connecting again is of no use. */
export const isRefusal = (code: number): boolean => code >= OWN_CODES && !PASSING_CODES.has(code);
