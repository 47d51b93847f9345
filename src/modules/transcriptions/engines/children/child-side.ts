import { writeSync } from 'node:fs';
import os from 'node:os';
import type { ChunkTranscript } from '../transcription-engine.js';
import {
  type ChildAnswer,
  type ChildMessage,
  type ChunkOptions,
  HEADER_BYTES,
  LENGTH_BYTES,
  lineOf,
  MESSAGE_DESCRIPTOR,
} from './child-messages.js';

/** Recognition uses every core: the API and the database on the same machine get the CPU first. */
const NICENESS = 5;
/** Before other recognition, since somebody waits for each word; not so far before it that files would wait for speakers. */
export const LIVE_NICENESS = 3;

export interface Recogniser {
  transcribe(pcm: Uint8Array, options: ChunkOptions): ChunkTranscript | Promise<ChunkTranscript>;
}

/** The audio of one request, as it comes. */
export interface AudioReceiver {
  write(part: Buffer): void;
  /** Called when all of it has come. */
  answer(): ChildAnswer | Promise<ChildAnswer>;
}

/** @param bytes of audio that will come */
type RequestOpener = (options: unknown, bytes: number) => AudioReceiver;

/**
 * Serves a recogniser: each request is a chunk. A chunk that the recogniser cannot transcribe ends the process.
 * @param create may throw an error that says what is missing
 */
export async function serveChunks(create: () => Recogniser | Promise<Recogniser>, niceness = NICENESS): Promise<void> {
  await serveRequests(async () => {
    const recogniser = await create();
    return (options) => {
      const parts: Buffer[] = [];
      return {
        write: (part) => parts.push(part),
        answer: async () => ({
          transcript: await recogniser.transcribe(Buffer.concat(parts), options as ChunkOptions),
        }),
      };
    };
  }, niceness);
}

/**
 * Runs in the child process: answers every request of its parent until the parent ends or closes the pipe.
 * @param create may throw an error that says what is missing
 */
export async function serveRequests(
  create: () => RequestOpener | Promise<RequestOpener>,
  niceness = NICENESS,
): Promise<void> {
  // A service that was started with a lower priority still has it, and may not raise it.
  if (os.getPriority() < niceness) os.setPriority(niceness);
  // A terminal's Ctrl-C or a service manager's stop reaches the whole process group. The parent finishes its chunks and
  // then ends this process.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => undefined);
  try {
    receiveRequests(await create());
    send({ ready: true });
  } catch (error) {
    send({ problem: error instanceof Error ? error.message : String(error) });
  }
}

/** The parent sends the next request when it has the answer to the last. */
function receiveRequests(open: RequestOpener): void {
  let head = Buffer.alloc(0);
  let receiver: AudioReceiver | null = null;
  let missing = 0;
  process.stdin.on('data', (data: Buffer) => {
    let audio = data;
    if (!receiver) {
      // The header and the options may be split too.
      head = Buffer.concat([head, data]);
      const optionsEnd = head.length < HEADER_BYTES ? Infinity : HEADER_BYTES + head.readUInt32LE(0);
      if (head.length < optionsEnd) return;
      missing = head.readUInt32LE(LENGTH_BYTES);
      receiver = open(JSON.parse(head.toString('utf8', HEADER_BYTES, optionsEnd)), missing);
      audio = head.subarray(optionsEnd);
      head = Buffer.alloc(0);
    }
    receiver.write(audio);
    missing -= audio.length;
    if (missing > 0) return;
    void answer(receiver);
    receiver = null;
  });
  process.stdin.on('end', () => process.exit());
}

async function answer(receiver: AudioReceiver): Promise<void> {
  send(await receiver.answer());
}

function send(message: ChildMessage): void {
  let rest = Buffer.from(`${lineOf(message)}\n`);
  while (rest.length > 0) rest = rest.subarray(writeSync(MESSAGE_DESCRIPTOR, rest));
}
