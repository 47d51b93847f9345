import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { SPEECH } from '../../../src/testing/speech.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { silenceWav, wav } from '../audio/audio-bytes.js';
import { fragmentedMp4, mp4 } from '../audio/mp4.js';
import { fail, transcribe } from '../state/recording-states.js';

/** A request before it is sent: plain data, so that it can be made smaller and shown. */
export interface Plan {
  credentials: CredentialsKind;
  /** By the name of the path parameter. */
  ids: Record<string, PathId>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  body: JsonText | Form | null;
}

export type CredentialsKind = 'pair' | 'token' | 'none' | 'wrong secret' | 'all scopes but the one needed';

/** What stands in the place of a path parameter. */
export type PathId =
  /** A row of our own; `state` chooses among the states that it can be in. */
  | { kind: 'own'; state: number }
  /** A row of another account. */
  | { kind: 'foreign' }
  /** A row of our own, spelt as it is not. */
  | { kind: 'misspelt'; way: Misspelling }
  /** What names nothing, encoded for a URL. */
  | { kind: 'nonsense'; encoded: string };

export type Misspelling = keyof typeof MISSPELLINGS;

/** Postgres takes the most of these for the same id (D1). */
export const MISSPELLINGS = {
  'in upper case': (id: string) => id.toUpperCase(),
  'in braces': (id: string) => `%7B${id}%7D`,
  'without dashes': (id: string) => id.replaceAll('-', ''),
  'with a blank': (id: string) => `${id}%20`,
  'with a NUL': (id: string) => `${id}%00`,
  'as an URN': (id: string) => `urn:uuid:${id}`,
};

export interface JsonText {
  kind: 'json';
  text: string;
  /** Null: none is sent. */
  contentType: string | null;
}

export interface Form {
  kind: 'form';
  parts: FormPart[];
  /** False: the body breaks off before its closing boundary. */
  complete: boolean;
  contentType: 'form' | 'json' | 'without boundary';
}

export interface FormPart {
  name: string;
  /** A part with one is a file. */
  filename?: string;
  /** Of a file: the name of a sample; of a field: its text. */
  content: string;
}

type Change = (service: TestService, id: string, owner: ApiClient) => Promise<unknown>;

/** The speakers that the document's example names. */
const DIALOGUE = [
  { word: 'hello', start: 0, end: 0.04, confidence: 0.9, speaker: 'A' },
  { word: 'there', start: 0.05, end: 0.1, confidence: 0.9, speaker: 'B' },
];

/** What a row can be brought to before a request meets it; rows of other kinds are as they were made. */
const STATES: Record<string, Change[]> = {
  recording_id: [
    async () => undefined,
    (service, id) => transcribe(service, id, { words: DIALOGUE }),
    (service, id) => fail(service, id),
    correct,
  ],
};

async function correct(service: TestService, id: string, owner: ApiClient): Promise<void> {
  await transcribe(service, id);
  await owner.put(`/v1/recordings/${id}/transcription`, { text: 'hello here' }).expect(200);
}

/** How many states the row that a path parameter names can be in. */
export const statesOf = (parameter: string): number => STATES[parameter]?.length ?? 1;

export async function bringTo(
  state: number,
  parameter: string,
  ...[service, id, owner]: Parameters<Change>
): Promise<void> {
  await STATES[parameter]?.[state]?.(service, id, owner);
}

const fixture = (name: string): Buffer => readFileSync(join(SPEECH, name));

/** Files that an upload may hold. */
const AUDIO: Record<string, () => Buffer> = {
  silence: () => silenceWav(0.1),
  mp3: () => fixture('go-forward-ten-meters.mp3'),
  ogg: () => fixture('go-forward-ten-meters.ogg'),
  webm: () => fixture('go-forward-ten-meters.webm'),
  wav: () => fixture('cards-001.wav'),
  amr: () => fixture('go-forward-ten-meters.nb.amr'),
  m4a: () => mp4(),
};

/** They begin like audio: whether they are taken is the probe's matter, but it must not fall over them. */
const DAMAGED: Record<string, () => Buffer> = {
  'half an mp3': () => half(fixture('go-forward-ten-meters.mp3')),
  'half an ogg': () => half(fixture('go-forward-ten-meters.ogg')),
  'half a webm': () => half(fixture('go-forward-ten-meters.webm')),
  'a wav of 0 Hz': () => wav({ sampleRate: 0, data: Buffer.alloc(100) }),
  'a wav that claims 4 GB': () => wav({ dataLength: 0xffffffff, data: Buffer.alloc(100) }),
  'half an m4a': () => half(fragmentedMp4(10)),
  'the head of a webm': () => fixture('go-forward-ten-meters.webm').subarray(0, 40),
};

/** None of the formats (D21, D47). */
const REFUSED: Record<string, () => Buffer> = {
  nothing: () => Buffer.alloc(0),
  'one byte': () => Buffer.from([0]),
  'a text': () => Buffer.from('This is no audio, though it says so.\n'),
  'a picture': () => Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  zeros: () => Buffer.alloc(4096),
};

export const AUDIO_NAMES = Object.keys(AUDIO);
export const DAMAGED_NAMES = Object.keys(DAMAGED);
export const REFUSED_NAMES = Object.keys(REFUSED);

const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);

const read = new Map<string, Buffer>();

export function sample(name: string): Buffer {
  const make = { ...AUDIO, ...DAMAGED, ...REFUSED }[name];
  if (!make) throw new Error(`there is no sample ${name}`);
  const bytes = read.get(name) ?? make();
  read.set(name, bytes);
  return bytes;
}
