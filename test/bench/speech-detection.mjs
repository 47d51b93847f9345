/**
 * Compares detectors of speech: word errors, words cut at the edges of chunks, false and missed speech, and cost.
 *
 *   node test/bench/speech-detection.mjs FOLDER [--minutes 10] [--model FILE …] [--quick]
 *
 * FOLDER/manifest.json lists recordings: [{ "file", "ref", "lang" }]. `--model` adds versions of Silero beside the one that
 * ships. `--quick` leaves PocketSphinx out. Needs `npm run build`, ffmpeg and PocketSphinx.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { MADE_SOUNDS, pcmOf, randomFrom } from '../support/audio/made-sounds.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: 'string', default: '10' },
    model: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
  },
});
const [folder] = positionals;
if (!folder)
  throw new Error('usage: node test/bench/speech-detection.mjs FOLDER [--minutes N] [--model FILE] [--quick]');

const DIST = join(import.meta.dirname, '../../dist/modules/transcriptions');
const { ChunkCutter } = await import(`${DIST}/chunks/chunk-cutter.js`);
const { EnergyDetector } = await import(`${DIST}/speech/energy-detector.js`);
const { SileroDetector } = await import(`${DIST}/speech/silero/silero-detector.js`);
const { SileroStream } = await import(`${DIST}/speech/silero/silero-stream.js`);
const { SILERO_CONFIG, SILERO_FILE } = await import(`${DIST}/speech/silero/silero-model.js`);
const { PocketSphinxEngine } = await import(`${DIST}/engines/pocketsphinx/pocketsphinx.engine.js`);
const sherpa = createRequire(`${DIST}/`)('sherpa-onnx-node');

const RATE = 16_000;
const BYTES_PER_SECOND = 2 * RATE;
const FRAME_SAMPLES = 160;
const CHUNK_SECONDS = 15;
const BLOCK_BYTES = 65_536;
const FULL_SCALE = 32_768;

/** Each opens a detector for one recording. */
const detectors = {
  energy: () => new EnergyDetector(),
  silero: () => silero(SILERO_FILE),
  both: () => new Both(),
  ...Object.fromEntries(values.model.map((file) => [basename(file), () => silero(file)])),
};
const names = Object.keys(detectors);
/** By the digest of a chunk. */
const transcripts = new Map();

/** In this thread, so that its CPU time can be told. */
function silero(model) {
  const { sileroVad, ...config } = SILERO_CONFIG;
  const stream = new SileroStream(
    new sherpa.Vad({ ...config, sileroVad: { ...sileroVad, model }, sampleRate: RATE }, 1),
  );
  const detect = (_, pcm, last) => Promise.resolve([...stream.detect(pcm), ...(last ? stream.end() : [])]);
  return new SileroDetector({ detect, release: () => undefined }, 0);
}

/** The level of the sound, inside what Silero takes for speech. */
class Both {
  knowsVoices = true;
  voice = detectors.silero();
  energy = new EnergyDetector();
  loud = [];

  async detect(pcm) {
    this.loud.push(...this.energy.detect(pcm));
    return this.and(await this.voice.detect(pcm));
  }

  async end() {
    return this.and(await this.voice.end());
  }

  and(voice) {
    const loud = this.loud.splice(0, voice.length);
    return voice.map((isVoice, frame) => isVoice && loud[frame]);
  }

  close() {}
}

async function cut(pcm, name) {
  const cutter = new ChunkCutter(CHUNK_SECONDS, detectors[name]());
  const chunks = [];
  for (let at = 0; at < pcm.length; at += BLOCK_BYTES)
    for await (const chunk of cutter.push(pcm.subarray(at, at + BLOCK_BYTES))) chunks.push(chunk);
  for await (const chunk of cutter.end()) chunks.push(chunk);
  return { chunks, speechSeconds: cutter.speechSeconds };
}

const lengthOf = ({ pcm }) => pcm.length / BYTES_PER_SECOND;
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

function table(title, head, rows) {
  const lines = [['', ...head], head.map(() => '---').concat('---'), ...rows];
  console.log(`\n${title}\n\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}`);
}

await falseSpeech(Number(values.minutes) * 60);
const recordings = await load();
await missedSpeech();
if (!values.quick) {
  const engine = new PocketSphinxEngine();
  await wordErrorsOf(engine);
  await cutWords(engine);
  await engine.close();
}

async function falseSpeech(seconds) {
  const rows = [];
  const cost = Object.fromEntries(names.map((name) => [name, 0]));
  const sounds = Object.entries(MADE_SOUNDS);
  for (const [sound, make] of sounds) {
    const pcm = pcmOf(make(seconds));
    const cells = [];
    for (const name of names) {
      const before = process.cpuUsage();
      const { chunks, speechSeconds } = await cut(pcm, name);
      const { user, system } = process.cpuUsage(before);
      cost[name] += (user + system) / 1e6;
      cells.push(`${speechSeconds.toFixed(1)} (${sum(chunks.map(lengthOf)).toFixed(0)})`);
    }
    rows.push([sound, ...cells]);
  }
  table(`False speech in ${seconds} s of each sound: seconds of speech (seconds that reach the engine)`, names, rows);
  const shares = names.map((name) => (cost[name] / seconds / sounds.length).toFixed(4));
  table('Cost of detecting and cutting', names, [['CPU seconds per second of audio', ...shares]]);
}

async function load() {
  const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
  return await Promise.all(manifest.map(async (entry) => ({ ...entry, pcm: await decode(join(folder, entry.file)) })));
}

async function decode(file, filters = []) {
  const output = ['-ac', '1', '-ar', `${RATE}`, '-f', 's16le', 'pipe:1'];
  const options = { encoding: 'buffer', maxBuffer: 2 ** 28 };
  return (await promisify(execFile)('ffmpeg', ['-v', 'error', '-nostdin', '-i', file, ...filters, ...output], options))
    .stdout;
}

function samplesOf(pcm) {
  return Float32Array.from({ length: pcm.length >> 1 }, (_, i) => pcm.readInt16LE(2 * i) / FULL_SCALE);
}

function powerOf(samples) {
  return sum([...samples].map((sample) => sample * sample)) / samples.length;
}

function noisy(pcm, decibel) {
  const samples = samplesOf(pcm);
  const random = randomFrom(23);
  // The power of numbers spread evenly from -1 to 1 is a third.
  const level = Math.sqrt((3 * powerOf(samples)) / 10 ** (decibel / 10));
  return pcmOf(samples.map((sample) => sample + level * random()));
}

/** Half the rate and back, by a filter as telephones have it. */
function narrow(pcm) {
  const samples = samplesOf(pcm);
  const taps = Array.from({ length: 63 }, (_, i) => {
    const x = i - 31;
    const sinc = x === 0 ? 0.425 : Math.sin(0.425 * Math.PI * x) / (Math.PI * x);
    return sinc * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / 62));
  });
  return pcmOf(
    samples.map((_, i) => {
      let filtered = 0;
      for (const [k, tap] of taps.entries()) filtered += tap * (samples[i + k - 31] ?? 0);
      return filtered;
    }),
  );
}

function variants() {
  const scaled = (factor) => (pcm) => pcmOf(samplesOf(pcm).map((sample) => sample * factor));
  return {
    clean: (pcm) => pcm,
    'up to 3.4 kHz': narrow,
    '30 dB softer': scaled(10 ** (-30 / 20)),
    'noise 10 dB below': (pcm) => noisy(pcm, 10),
    'noise 5 dB below': (pcm) => noisy(pcm, 5),
    'clipped (+20 dB)': scaled(10),
  };
}

/** The frames that are loud in the clean recording and may not be lost, with three seconds of nothing around. */
async function missedSpeech() {
  const rows = [];
  const pad = Buffer.alloc(3 * BYTES_PER_SECOND);
  for (const [variant, change] of Object.entries(variants())) {
    const missed = Object.fromEntries(names.map((name) => [name, 0]));
    let total = 0;
    for (const { pcm } of recordings) {
      const reference = new EnergyDetector().detect(pcm.subarray(0, pcm.length - (pcm.length % (2 * FRAME_SAMPLES))));
      total += reference.filter(Boolean).length;
      const audio = change(Buffer.concat([pad, pcm, pad]));
      for (const name of names) {
        const { chunks } = await cut(audio, name);
        missed[name] += reference.filter((isSpeech, frame) => {
          const second = 3 + (frame + 0.5) / 100;
          return isSpeech && !chunks.some((chunk) => second >= chunk.start && second < chunk.start + lengthOf(chunk));
        }).length;
      }
    }
    rows.push([variant, ...names.map((name) => `${((100 * missed[name]) / total).toFixed(2)} %`)]);
  }
  table('Missed speech: share of what is loud in the clean recordings and reaches no chunk', names, rows);
}

/** Transcribes each chunk once, whichever detectors made it. */
function transcribe(engine, pcm, start) {
  const key = createHash('sha256').update(pcm).digest('hex');
  if (!transcripts.has(key))
    transcripts.set(key, engine.transcribe({ pcm, start }, { language: null, signal: new AbortController().signal }));
  return transcripts.get(key);
}

async function wordErrorsOf(engine) {
  const english = recordings.filter(({ lang }) => lang === 'english');
  const rows = [];
  for (const [variant, change] of Object.entries(variants())) {
    const cells = [];
    const audio = english.map(({ pcm, ref }) => ({ ref, pcm: change(pcm) }));
    for (const name of names) {
      const counts = await inParallel(audio, async ({ pcm, ref }) => {
        const { chunks } = await cut(pcm, name);
        const texts = [];
        for (const chunk of chunks) texts.push((await transcribe(engine, chunk.pcm, chunk.start)).text);
        return { errors: wordErrors(wordsOf(ref), wordsOf(texts.join(' '))), words: wordsOf(ref).length };
      });
      const words = sum(counts.map((count) => count.words));
      const errors = sum(counts.map((count) => count.errors));
      cells.push(`${((100 * errors) / words).toFixed(1)} % (${errors})`);
    }
    rows.push([variant, ...cells]);
    console.error(`${variant}: ${cells.join(', ')}`);
  }
  table('Word errors with PocketSphinx on the English recordings', names, rows);
}

/** The recordings one after another, with half a second between; word times come from each recording on its own. */
async function cutWords(engine) {
  const english = recordings.filter(({ lang }) => lang === 'english');
  const gap = Buffer.alloc(BYTES_PER_SECOND / 2);
  const parts = [];
  const words = [];
  for (const { pcm } of english) {
    const offset = sum(parts.map((part) => part.length)) / BYTES_PER_SECOND;
    const { words: own } = await transcribe(engine, pcm, 0);
    words.push(...own.map(({ start, end }) => ({ start: start + offset, end: end + offset })));
    parts.push(pcm, gap);
  }
  const long = Buffer.concat(parts);
  const cells = [];
  for (const name of names) {
    const { chunks } = await cut(long, name);
    const edges = chunks.flatMap((chunk) => [chunk.start, chunk.start + lengthOf(chunk)]);
    const damaged = words.filter(({ start, end }) => edges.some((edge) => edge > start + 0.05 && edge < end - 0.05));
    const lost = words.filter(({ start, end }) => {
      const middle = (start + end) / 2;
      return !chunks.some((chunk) => middle >= chunk.start && middle < chunk.start + lengthOf(chunk));
    });
    cells.push(`${damaged.length} cut, ${lost.length} left out, of ${words.length} (${chunks.length} chunks)`);
  }
  table('Words cut at the edges of chunks', names, [['all recordings in a row', ...cells]]);
}

async function inParallel(items, work) {
  const results = [];
  let next = 0;
  const loop = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, loop));
  return results;
}

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? [];
}

/** Levenshtein distance over words. */
function wordErrors(expected, actual) {
  let row = actual.map((_, i) => i + 1);
  expected.forEach((word, i) => {
    let corner = i;
    let left = i + 1;
    row = row.map((above, j) => {
      left = Math.min(above + 1, left + 1, corner + (word === actual[j] ? 0 : 1));
      corner = above;
      return left;
    });
  });
  return row.at(-1) ?? expected.length;
}
