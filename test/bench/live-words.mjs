// How long after its end a word is there, while somebody speaks. After npm run build, on a machine without other work:
//   node test/bench/asterisk-prompts.mjs FOLDER
//   node test/bench/live-words.mjs FOLDER [WORDS]
// The prompts of FOLDER are spoken in real time, with pauses, over a WebSocket of an API process (the plain form, PCM of
// 16 kHz in parts of 0.1 s); a transcriber of its own recognises them. Prints the distribution over at least WORDS (200)
// words, in seconds, of
//   total: from the end of a word until the client has it, in a partial text or else in the final one;
//   engine: the same if everything but the recogniser took no time: the audio after the end of the word that it had when it
//     gave the word;
//   beyond: the difference, word by word.
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';

import { AppModule } from '../../dist/app.module.js';
import { LiveRecognitionService } from '../../dist/modules/transcriptions/live/live-recognition.service.js';
import { readEnv } from '../../dist/platform/config/env.js';
import {
  BYTES_PER_SECOND,
  distribution,
  firstAppearances,
  PART_SECONDS,
  pause,
  samplesOf,
  Speaker,
  storedFinals,
  WordSignals,
} from './lib/live.mjs';
import { Stage } from './lib/stage.mjs';

const PAUSE_SECONDS = 0.8;
/** As after the first words of a speaker: the process of the recogniser is there. */
const HEAD_START_MS = 3000;

const [folder, wanted = '200'] = process.argv.slice(2);
const prompts = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
const parts = [];
let words = 0;
// Not every word is recognised.
for (const { file, ref } of prompts) {
  if (words > Number(wanted) * 1.15) break;
  words += ref.split(' ').length;
  parts.push(samplesOf(path.join(folder, file)), pause(PAUSE_SECONDS));
}
const audio = Buffer.concat(parts);

const stage = await Stage.open();
const [spoken, engine] = await measure();
await stage.close();
const beyond = spoken.flatMap(({ word, end, delay: total }) => {
  const own = engine.find((other) => other.word === word && Math.abs(other.end - end) < 0.05);
  return own ? [total - own.delay] : [];
});
const delaysOf = (found) => distribution(found.map((word) => word.delay));
console.log(
  JSON.stringify({
    cores: os.availableParallelism(),
    load: os.loadavg()[0],
    audioSeconds: audio.length / BYTES_PER_SECOND,
    total: delaysOf(spoken),
    engine: delaysOf(engine),
    beyond: distribution(beyond),
    partial: { total: delaysOf(spoken.filter(isPartial)), engine: delaysOf(engine.filter(isPartial)) },
  }),
);
process.exit(0);

async function measure() {
  const account = await stage.account();
  const api = await stage.service('api');
  await stage.service('transcriber');
  const signals = await WordSignals.open(stage);
  const speaker = await Speaker.open(api.url, account);
  await delay(HEAD_START_MS);
  await speaker.speak(audio);
  await speaker.finish();
  const finals = await storedFinals(stage, speaker.recordingId);
  const result = speaker.delays(finals, signals.deltas(speaker.recordingId));
  signals.close();
  return [result, await listen(account.id)];
}

/** As fast as the engine is, in parts of the same length. */
async function listen(accountId) {
  const env = readEnv({ ...stage.env, ROLES: 'transcriber', LIVE_SESSIONS: '0' });
  const app = await NestFactory.create(AppModule.register(env, []), { logger: false });
  await app.init();
  const recognition = app.get(LiveRecognitionService);
  const recogniser = await recognition.open({ accountId, accountEngines: null, language: 'english', languages: null });
  let heard = 0;
  async function* bytes() {
    const step = PART_SECONDS * BYTES_PER_SECOND;
    for (let at = 0; at < audio.length; at += step) {
      heard = Math.min(audio.length, at + step) / BYTES_PER_SECOND;
      yield audio.subarray(at, at + step);
    }
  }
  const stream = {
    bytes: bytes(),
    format: 'pcm16',
    sampleRate: 16_000,
    startSeconds: 0,
    skipSeconds: 0,
    cutsAtPauses: true,
  };
  const given = [];
  let shown = [];
  for await (const event of recognition.listen({ ...stream, signal: new AbortController().signal }, recogniser)) {
    if (event.type === 'words') shown.push(...event.words.map((word) => ({ ...word, at: heard })));
    if (event.type !== 'text') continue;
    given.push(...firstAppearances(event.words, shown, heard));
    shown = [];
  }
  recogniser.close();
  await app.close();
  return given;
}

function isPartial(word) {
  return word.isPartial;
}
