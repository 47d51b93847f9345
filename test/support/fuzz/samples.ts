import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silenceWav, wav } from '../audio/audio-bytes.js';
import { fragmentedMp4, mp4 } from '../audio/mp4.js';
import { SPEECH } from '../../../src/testing/speech.js';

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
