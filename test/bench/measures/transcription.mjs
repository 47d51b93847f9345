import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds } from '../lib/cpu.mjs';
import { alternate, atLeast, atMost, median, published, ratio } from '../lib/figures.mjs';
import { receiveEvents, subscribe } from '../lib/receivers.mjs';
import { bareEngine, repeated, SHORT_RECORDING, speech, transcribe, upload, warmUp } from '../lib/transcriptions.mjs';

/** 6.4 seconds in the mean. */
const FILES = [
  'jfk.wav',
  'go-forward-ten-meters.ogg',
  'jfk.wav',
  'ss-0880.wav',
  'leopard-de.wav',
  'jfk.wav',
  'ss-0880.mediarecorder.webm',
];
const FILE_COUNT = 60;
/** Pairs of transcriptions, which take minutes. */
const PAIRS = 3;
const SHORT_RECORDINGS = 5;
/** By then a long recording fills all cores. */
const HEAD_START_MS = 3000;
const POLL_MS = 2;

/** From the start of `node dist/main.js`, with both roles, to the first 200 of its readiness. */
export async function measureStart(stage, { pairs }) {
  const times = [];
  for (let i = 0; i < pairs; i++) {
    const service = await stage.service('api,worker');
    times.push(service.startMs / 1000);
    await service.stop();
  }
  return [atMost(2, 'start of dist/main.js to ready (s)', median(times))];
}

async function transcribingService(stage) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  await warmUp(stage, service, account);
  return { account, service };
}

/** 60 recordings from upload to `transcribed`, on all cores, beside a script that runs the same ffmpeg and engine. */
export async function measureTranscription(stage, { pairs }) {
  const { account, service } = await transcribingService(stage);
  const files = Array.from({ length: FILE_COUNT }, (_, i) => speech(FILES[i % FILES.length]));
  const ours = async () => {
    const before = cpuSeconds(service.pid);
    const seconds = await transcribe(stage, service, account, files);
    return { seconds, cpuSeconds: cpuSeconds(service.pid) - before };
  };
  const [a, b] = await alternate(Math.min(pairs, PAIRS), ours, () => bareEngine(files));
  const secondsOf = (runs) => runs.map(({ seconds }) => seconds);
  const cpu = (runs) => runs.map((run) => run.cpuSeconds);
  const engines = b.map(({ engineSeconds }) => engineSeconds / availableParallelism());
  const perSecond = (runs) => (FILE_COUNT / median(secondsOf(runs))).toFixed(2);
  const elapsed = `${perSecond(a)} against ${perSecond(b)} recordings/s`;
  const taken = `${median(cpu(a)).toFixed(1)} against ${median(cpu(b)).toFixed(1)} s`;
  return [
    atLeast(0.92, '60 recordings to transcribed / plain script', ratio(secondsOf(b), secondsOf(a)), elapsed),
    atLeast(0.92, '… in CPU seconds', ratio(cpu(b), cpu(a)), taken),
    published('… / the engines alone', ratio(engines, secondsOf(a)), 'without ffmpeg and all else'),
  ];
}

/** One recording of 3 s on an idle system: what the service adds to decoding and transcribing it. */
export async function measureLatency(stage, { pairs }) {
  const { account, service } = await transcribingService(stage);
  const receiver = await receiveEvents();
  await subscribe(service, account, receiver.url);
  const added = [];
  const eventAfter = [];
  for (let i = 0; i < pairs * 2; i++) {
    const { seconds } = await bareEngine([SHORT_RECORDING]);
    const started = Date.now();
    const id = await upload(service, account, SHORT_RECORDING);
    while (!receiver.arrivals.has(id)) await sleep(POLL_MS);
    const [{ processed_at: processedAt }] = await stage.sql('SELECT processed_at FROM recordings WHERE id = $1', [id]);
    added.push(processedAt.getTime() - started - seconds * 1000);
    eventAfter.push(receiver.arrivals.get(id) - processedAt.getTime());
  }
  receiver.close();
  return [
    atMost(150, 'a recording of 3 s: ms until transcribed, beyond ffmpeg and engine', median(added)),
    atMost(50, 'its event: ms until the first attempt', median(eventAfter)),
  ];
}

/** A recording of ten minutes beside independent engines on its chunks, and short ones sent meanwhile. */
export async function measureLongRecording(stage, { pairs, longSeconds }) {
  const { account, service } = await transcribingService(stage);
  const long = await repeated(stage, longSeconds);
  const ours = () => transcribe(stage, service, account, [long]);
  const theirs = async () => (await bareEngine([long], { chunks: true })).seconds;
  const [a, b] = await alternate(Math.min(pairs, PAIRS), ours, theirs);

  const idle = await transcribe(stage, service, account, [SHORT_RECORDING]);
  const longId = await upload(service, account, long);
  await sleep(HEAD_START_MS);
  const waits = [];
  for (let i = 0; i < SHORT_RECORDINGS; i++)
    waits.push((await transcribe(stage, service, account, [SHORT_RECORDING])) - idle);
  const [{ status }] = await stage.sql('SELECT status FROM recordings WHERE id = $1', [longId]);
  if (status !== 'processing') throw new Error('the long recording ended before the short ones');
  const { engineSeconds } = await bareEngine([long], { chunks: true });
  const chunkSeconds = (engineSeconds / longSeconds) * 15;
  const elapsed = `${median(a).toFixed(1)} against ${median(b).toFixed(1)} s`;
  const waited = `${median(waits).toFixed(2)} s, a chunk takes ${chunkSeconds.toFixed(2)} s`;
  return [
    atLeast(0.9, `a recording of ${longSeconds / 60} min / one engine per core`, ratio(b, a), elapsed),
    atMost(1, 'short recordings sent meanwhile wait, in chunks', median(waits) / chunkSeconds, waited),
  ];
}
