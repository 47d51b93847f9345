import type { AccountEvent, VoiceNotes } from '../../index.js';
import type { TriggerKind } from '../../events/event-types.js';
import { CliError } from '../cli-error.js';
import type { Context } from '../context.js';
import { EXIT } from '../exit-codes.js';
import { printEvent } from './watch.js';

/** The name of the file that leads to each with a test key. */
const FILES: Record<TriggerKind, string> = {
  'recording.accepted': 'transcribed',
  'recording.transcribed': 'transcribed',
  'recording.failed': 'failed',
  'recording.deleted': 'transcribed',
  'transcription.corrected': 'transcribed',
};

const TEST_KEY = /^vnk_test_/;
const LIMIT_MS = 30_000;

interface TriggerOptions {
  /** Name of the file instead of that of the kind. */
  file?: string;
}

/** Makes an event happen in the test account, and prints it. */
export async function trigger(context: Context, { file }: TriggerOptions, kind: TriggerKind): Promise<void> {
  const { key } = await context.connection();
  if (!TEST_KEY.test(key)) {
    const advice = 'Make one: vnotes keys create CI --mode test';
    throw new CliError(`This is a live key. Events are triggered with a test key only. ${advice}`, EXIT.credentials);
  }
  const client = await context.client();
  const event = await eventOf(client, kind, file ?? FILES[kind]);
  context.output.document(event);
  printEvent(event, null, context.output);
}

async function eventOf(client: VoiceNotes, kind: TriggerKind, file: string): Promise<AccountEvent> {
  const [stop, limit] = [new AbortController(), AbortSignal.timeout(LIMIT_MS)];
  const signal = AbortSignal.any([stop.signal, limit]);
  let open = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  const stream = client.events.stream({ signal, onState: ({ state }) => state === 'open' && open() });
  const events = stream[Symbol.asyncIterator]();
  try {
    let next = events.next();
    // What else goes wrong is told first, and ends the stream.
    next.catch(() => undefined);
    // The stream may end before it is open, and says why.
    await Promise.race([isOpen, next]);
    const id = await cause(client, kind, file);
    for (;;) {
      const { value: event, done } = await next;
      if (done) throw new Error('The event stream has ended.');
      if (event.event === kind && event.body.recording.id === id) return event;
      next = events.next();
    }
  } catch (error) {
    if (!limit.aborted) throw error;
    throw new CliError(`No ${kind} within ${LIMIT_MS / 1000} seconds. Check --file, and that a worker runs.`);
  } finally {
    stop.abort();
  }
}

/** @returns the id of the recording */
async function cause(client: VoiceNotes, kind: TriggerKind, file: string): Promise<string> {
  const { id } = await client.recordings.upload(silence(), { filename: `${file}.wav` });
  if (kind === 'recording.accepted') return id;
  if (kind === 'recording.deleted') await client.recordings.delete(id);
  if (kind !== 'transcription.corrected') return id;
  await client.recordings.wait(id);
  await client.recordings.correct(id, { text: 'This is the corrected text of a test recording.' });
  return id;
}

const RATE = 8000;
const SECONDS = 0.5;

/** A WAV file of 16 bits and one channel. */
function silence(): Uint8Array<ArrayBuffer> {
  const samples = RATE * SECONDS * 2;
  const file = new DataView(new ArrayBuffer(44 + samples));
  const text = (offset: number, value: string): void => {
    for (const [i, character] of [...value].entries()) file.setUint8(offset + i, character.charCodeAt(0));
  };
  text(0, 'RIFF');
  file.setUint32(4, 36 + samples, true);
  text(8, 'WAVEfmt ');
  file.setUint32(16, 16, true);
  file.setUint16(20, 1, true);
  file.setUint16(22, 1, true);
  file.setUint32(24, RATE, true);
  file.setUint32(28, RATE * 2, true);
  file.setUint16(32, 2, true);
  file.setUint16(34, 16, true);
  text(36, 'data');
  file.setUint32(40, samples, true);
  return new Uint8Array(file.buffer);
}
