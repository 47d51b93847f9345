import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ROOT } from '../../../scripts/lib/paths.mjs';
import { alternate, median, ratio } from '../lib/load.mjs';
import { formOf, post } from '../lib/uploads.mjs';

const SPEECH = join(ROOT, 'test/fixtures/speech');
/** 6.4 seconds in the mean. */
const NOTES = [
  'jfk.wav',
  'go-forward-ten-meters.ogg',
  'jfk.wav',
  'ss-0880.wav',
  'leopard-de.wav',
  'jfk.wav',
  'ss-0880.mediarecorder.webm',
];
const NOTE_COUNT = 60;
const SHORT = 'ss-0880.wav';
const POLL_MS = 2;
const LONG_SECONDS = 600;

/** 60 notes from upload to `transcribed`, on all cores, beside a script that runs the same ffmpeg and engine. */
export async function measureTranscription(stage, { pairs }) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  const files = Array.from({ length: NOTE_COUNT }, (_, i) => join(SPEECH, NOTES[i % NOTES.length]));
  await transcribe(stage, service, account, [join(SPEECH, SHORT)]);
  const ours = async () => NOTE_COUNT / (await transcribe(stage, service, account, files));
  const theirs = async () => NOTE_COUNT / (await bareEngine(files)).seconds;
  const [a, b] = await alternate(Math.min(pairs, 3), ours, theirs);
  const figures = `${median(a).toFixed(2)} against ${median(b).toFixed(2)} notes/s`;
  return [{ what: '60 notes to transcribed / plain script', value: ratio(a, b), target: 0.92, figures }];
}

/** One note of 3 s on an idle system: what the service adds to decoding and hearing it. */
export async function measureLatency(stage, { pairs }) {
  const account = await stage.account();
  const arrivals = new Map();
  const receiver = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      arrivals.set(JSON.parse(text).recording.id, Date.now());
      response.end();
    });
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const service = await stage.service('api,worker');
  const hook = { url: `http://127.0.0.1:${receiver.address().port}/`, events: ['recording.transcribed'] };
  await fetch(`${service.url}/v1/webhooks`, {
    method: 'POST',
    headers: { ...account.headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(hook),
  });
  const file = join(SPEECH, SHORT);
  await transcribe(stage, service, account, [file]);
  const added = [];
  const eventAfter = [];
  for (let i = 0; i < pairs * 2; i++) {
    const { seconds } = await bareEngine([file]);
    const started = Date.now();
    const { body } = await post(`${service.url}/v1/recordings`, {
      headers: account.headers,
      body: formOf(readFileSync(file)),
    });
    const { id } = JSON.parse(body);
    let row;
    do {
      await sleep(POLL_MS);
      [row] = await stage.sql('SELECT status, processed_at FROM recordings WHERE id = $1', [id]);
    } while (row.status === 'processing');
    while (!arrivals.has(id)) await sleep(POLL_MS);
    added.push(row.processed_at.getTime() - started - seconds * 1000);
    eventAfter.push(arrivals.get(id) - row.processed_at.getTime());
  }
  receiver.close();
  receiver.closeAllConnections();
  return [
    {
      what: 'one 3 s note: ms until transcribed, beyond the engine',
      value: median(added),
      target: 150,
      atMost: true,
      figures: '',
    },
    { what: 'its event: ms until the first attempt', value: median(eventAfter), target: 50, atMost: true, figures: '' },
  ];
}

/** A note of ten minutes, and short ones sent meanwhile. */
export async function measureLongNote(stage) {
  const account = await stage.account();
  const service = await stage.service('api,worker');
  const short = join(SPEECH, SHORT);
  const long = join(stage.services.folder, 'long.ogg');
  const repeats = `${Math.ceil(LONG_SECONDS / 11)}`;
  const encode = [
    '-v',
    'error',
    '-stream_loop',
    repeats,
    '-i',
    join(SPEECH, 'jfk.wav'),
    '-t',
    `${LONG_SECONDS}`,
    '-c:a',
    'libopus',
    '-b:a',
    '24k',
  ];
  await promisify(execFile)('ffmpeg', [...encode, long]);
  await transcribe(stage, service, account, [short]);
  const { seconds: bare } = await bareEngine([long], { pieces: true });
  const ours = await transcribe(stage, service, account, [long]);
  const longAgain = transcribe(stage, service, account, [long]);
  await sleep(3000);
  const waits = [];
  for (let i = 0; i < 5; i++) waits.push(await transcribe(stage, service, account, [short]));
  await longAgain;
  return [
    {
      what: 'a 10 min note / one engine per core',
      value: bare / ours,
      target: 0.9,
      figures: `${ours.toFixed(1)} against ${bare.toFixed(1)} s`,
    },
    { what: 'short notes sent meanwhile (s)', value: median(waits), figures: '' },
  ];
}

/** @returns {Promise<number>} seconds from the first upload until all are transcribed */
async function transcribe(stage, service, account, files) {
  const startedAt = performance.now();
  const ids = await Promise.all(
    files.map(async (file) => {
      const body = formOf(readFileSync(file), file.split('/').at(-1));
      const answer = await post(`${service.url}/v1/recordings`, { headers: account.headers, body });
      if (answer.status !== 201) throw new Error(`${file}: ${answer.status} ${answer.body}`);
      return JSON.parse(answer.body).id;
    }),
  );
  for (;;) {
    const [{ open, failed }] = await stage.sql(
      `SELECT count(*) FILTER (WHERE status = 'processing')::int AS open, count(*) FILTER (WHERE status = 'failed')::int AS failed
       FROM recordings WHERE id = ANY ($1)`,
      [ids],
    );
    if (failed > 0) throw new Error(`${failed} of ${files.length} notes failed`);
    if (open === 0) return (performance.now() - startedAt) / 1000;
    await sleep(20);
  }
}

async function bareEngine(files, { pieces = false } = {}) {
  const flags = pieces ? ['--pieces'] : [];
  const script = join(ROOT, 'test/bench/baselines/bare-engine.mjs');
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...flags, ...files], { cwd: ROOT });
  return JSON.parse(stdout);
}
