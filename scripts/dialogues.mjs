// Makes dialogues of public voices, with who speaks when in the form RTTM: `node scripts/dialogues.mjs FOLDER`. The voices are
// those of test/fixtures/speech (licences in its LICENSES.md), and of Asterisk's prompts where they are installed (Debian's
// asterisk-core-sounds-*, CC-BY-SA 3.0; one speaker a language).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { wavHeader } from './lib/wav.mjs';

const RATE = 16_000;
const SPEECH = fileURLToPath(new URL('../test/fixtures/speech', import.meta.url));
const ASTERISK = '/usr/share/asterisk/sounds';
const FIXTURES = ['jfk', 'ss-0880', 'leopard-de', 'go-forward-ten-meters'];
const DIALOGUES = 10;
const TURNS = 24;
/** Prompts of an Asterisk voice: enough that none is heard twice in a dialogue. */
const PROMPTS = 200;
const MIN_SECONDS = 1;

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error('Usage: node scripts/dialogues.mjs FOLDER');
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
const voices = [...fixtureVoices(), ...asteriskVoices()];
for (let seed = 1; seed <= DIALOGUES; seed++) write(`dialogue-${seed}`, dialogue(seed));
console.log(
  `${DIALOGUES} dialogues of ${voices.length} voices (${voices.map(({ name }) => name).join(', ')}): ${folder}`,
);

function fixtureVoices() {
  return FIXTURES.map((name) => ({ name, clips: [() => decode(path.join(SPEECH, `${name}.wav`))] }));
}

function asteriskVoices() {
  const names = existsSync(ASTERISK) ? readdirSync(ASTERISK).filter((name) => /^[a-z]{2}_[A-Z]{2}_/.test(name)) : [];
  return names.map((name) => {
    const files = readdirSync(path.join(ASTERISK, name)).filter(
      (file) => /^[a-z].*\.(g722|wav|gsm)$/.test(file) && !/tone|beep/.test(file),
    );
    return { name, clips: files.slice(0, PROMPTS).map((file) => () => decode(path.join(ASTERISK, name, file))) };
  });
}

function decode(file) {
  const options = ['-v', 'error', '-i', file, '-f', 's16le', '-ac', '1', '-ar', String(RATE), '-'];
  const bytes = execFileSync('ffmpeg', options, { maxBuffer: 1 << 28 });
  return new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length - (bytes.length % 2)));
}

/** Two to four voices, in turns, of which one in six begins before the last has ended. */
function dialogue(seed) {
  let state = seed;
  const random = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const pick = (list) => list[Math.floor(random() * list.length)];
  const people = voices
    .map((voice) => ({ voice, rank: random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, 2 + (seed % 3))
    .map(({ voice }) => voice);
  const turns = [];
  let time = 0.5;
  let last;
  while (turns.length < TURNS) {
    const voice = pick(people.filter((one) => one !== last));
    const samples = pick(voice.clips)();
    if (samples.length < MIN_SECONDS * RATE) continue;
    const start = Math.max(0, random() < 1 / 6 ? time - 0.6 : time + 0.2 + random());
    turns.push({ speaker: voice.name, start, samples });
    time = start + samples.length / RATE;
    last = voice;
  }
  return turns;
}

function write(name, turns) {
  const end = Math.max(...turns.map(({ start, samples }) => start + samples.length / RATE)) + 0.5;
  const mixed = new Int16Array(Math.ceil(end * RATE));
  for (const { start, samples } of turns) {
    const from = Math.round(start * RATE);
    samples.forEach((sample, at) => {
      mixed[from + at] = Math.max(-32_768, Math.min(32_767, mixed[from + at] + sample));
    });
  }
  writeFileSync(
    path.join(folder, `${name}.wav`),
    Buffer.concat([wavHeader(mixed.byteLength, RATE), Buffer.from(mixed.buffer)]),
  );
  const lines = turns.map(({ speaker, start, samples }) => {
    const times = `${start.toFixed(3)} ${(samples.length / RATE).toFixed(3)}`;
    return `SPEAKER ${name} 1 ${times} <NA> <NA> ${speaker} <NA> <NA>\n`;
  });
  writeFileSync(path.join(folder, `${name}.rttm`), lines.join(''));
}
