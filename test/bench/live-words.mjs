// How long after its end a word is there, while somebody speaks. After npm run build, on a machine without other work:
//   node test/bench/asterisk-prompts.mjs FOLDER
//   SECRET_KEY=$(openssl rand -base64 48) node scripts/services.mjs --temporary -- \
//     sh -c 'node dist/commands/migrate.js && node test/bench/live-words.mjs FOLDER [WORDS]'
// The prompts of FOLDER are spoken in real time, with pauses, into a live recording as PCM of 16 kHz in parts of 0.1 s. Prints the
// distribution over at least WORDS (200) words, in seconds, of
//   total: from the end of a word until a listener on another connection has it;
//   engine: the audio after the end of the word that the recogniser had when it gave it, all of it at once: its own delay;
//   beyond: the difference, word by word.
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';

import { quotasOf } from '../../dist/access/plans.js';
import { AppModule } from '../../dist/app.module.js';
import { AccountService } from '../../dist/modules/account/account.service.js';
import { LiveRecordingsService } from '../../dist/modules/live/live-recordings.service.js';
import { LiveSignalsService } from '../../dist/modules/live/live-signals.service.js';
import { LiveRecognitionService } from '../../dist/modules/transcriptions/live/live-recognition.service.js';
import { readEnv } from '../../dist/platform/config/env.js';

const BYTES_PER_SECOND = 32_000;
const HEADER_BYTES = 44;
const PAUSE_SECONDS = 0.8;
const PART_SECONDS = 0.1;

const [folder, wanted = '200'] = process.argv.slice(2);
const prompts = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
const parts = [];
let words = 0;
// One word in eight may not be given while it is spoken.
for (const { file, ref } of prompts) {
  if (words > Number(wanted) * 1.15) break;
  words += ref.split(' ').length;
  parts.push(
    readFileSync(path.join(folder, file)).subarray(HEADER_BYTES),
    Buffer.alloc(PAUSE_SECONDS * BYTES_PER_SECOND),
  );
}
const audio = Buffer.concat(parts);

const env = readEnv({ SECRET_KEY: 'k'.repeat(32), NODE_ENV: 'test', ...process.env, ROLES: 'api,transcriber' });
const app = await NestFactory.create(AppModule.register(env, []), { logger: false });
await app.init();
const account = await app.get(AccountService).create({ name: 'bench', email: 'bench@example.com', plan: 'enterprise' });
const spoken = await speak(account.id);
const engine = await listen(account.id);
await app.close();

const beyond = spoken.flatMap(({ word, end, delay: total }) => {
  const own = engine.find((other) => other.word === word && Math.abs(other.end - end) < 0.05);
  return own ? [total - own.delay] : [];
});
console.log(
  JSON.stringify({
    cores: os.availableParallelism(),
    audioSeconds: audio.length / BYTES_PER_SECOND,
    total: distribution(spoken.map((word) => word.delay)),
    engine: distribution(engine.map((word) => word.delay)),
    beyond: distribution(beyond),
  }),
);
process.exit(0);

/** In real time. */
async function speak(accountId) {
  const live = app.get(LiveRecordingsService);
  const { recordingId } = await live.begin(
    {
      accountId,
      quotas: quotasOf('enterprise', {}),
      credential: 'api_key',
      userId: null,
      keyId: null,
      tokenId: null,
      isTest: false,
    },
    { audio: { format: 'pcm16', sampleRate: 16_000 }, language: 'english', clientIp: '192.0.2.1', userAgent: 'bench' },
  );
  let started = 0;
  const arrived = [];
  let finished = () => undefined;
  const end = new Promise((resolve) => (finished = resolve));
  const unsubscribe = app.get(LiveSignalsService).onWords(recordingId, (signal) => {
    const at = (performance.now() - started) / 1000;
    if (signal?.type === 'delta') arrived.push(...signal.words.map((word) => ({ ...word, delay: at - word.end })));
    if (signal?.type === 'finished') finished();
  });
  // As after the first words of a speaker: the process of the recogniser is there.
  await delay(3000);
  started = performance.now();
  for (let sent = 0; sent < audio.length;) {
    await delay(PART_SECONDS * 1000);
    const due = Math.floor(((performance.now() - started) / 1000) * (BYTES_PER_SECOND / 2)) * 2;
    const part = audio.subarray(sent, due);
    if (part.length > 0) sent = await live.append(recordingId, sent, part);
  }
  await live.end(recordingId, 'finished');
  await end;
  unsubscribe();
  return arrived;
}

/** As fast as the engine is, in parts of the same length. */
async function listen(accountId) {
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
  const stream = { bytes: bytes(), format: 'pcm16', sampleRate: 16_000, startSeconds: 0, skipSeconds: 0 };
  const given = [];
  for await (const event of recognition.listen({ ...stream, signal: new AbortController().signal }, recogniser)) {
    if (event.type === 'words') given.push(...event.words.map((word) => ({ ...word, delay: heard - word.end })));
  }
  recogniser.close();
  return given;
}

function distribution(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => Number((sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(2));
  return {
    words: sorted.length,
    p10: at(0.1),
    median: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    max: at(1),
  };
}
