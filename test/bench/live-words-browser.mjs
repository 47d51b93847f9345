// How long after its end a word is on the page, while somebody speaks into a browser. After npm run build, on a machine
// without other work:
//   node test/bench/asterisk-prompts.mjs FOLDER
//   node test/bench/live-words-browser.mjs FOLDER [WORDS]
// The microphone of a Chromium plays the prompts of FOLDER, with pauses, to the console's page Record; its Opus goes over
// a WebSocket to an API process, and a transcriber of its own recognises it. Prints the distribution over at least
// WORDS (200) words, in seconds, from the end of a word, as the recording has it, until the page shows it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';

import { findTestBrowser } from '../../scripts/lib/system-packages.mjs';
import { wavHeader } from '../../scripts/lib/wav.mjs';
import { BYTES_PER_SECOND, distribution, pause, samplesOf, storedFinals } from './lib/live.mjs';
import { Stage } from './lib/stage.mjs';

const PAUSE_SECONDS = 0.8;
/** As after the first words of a speaker: the page is open, and the process of the recogniser is there. */
const HEAD_START_SECONDS = 8;
/** Until the last words are final. */
const TAIL_SECONDS = 5;

const [folder, wanted = '200'] = process.argv.slice(2);
const prompts = JSON.parse(readFileSync(path.join(folder, 'manifest.json'), 'utf8'));
const parts = [pause(HEAD_START_SECONDS)];
let words = 0;
// Not every word is recognised.
for (const { file, ref } of prompts) {
  if (words > Number(wanted) * 1.15) break;
  words += ref.split(' ').length;
  parts.push(samplesOf(path.join(folder, file)), pause(PAUSE_SECONDS));
}
const audio = Buffer.concat([...parts, pause(TAIL_SECONDS)]);
const scratch = mkdtempSync(path.join(os.tmpdir(), 'live-words-'));
const microphone = path.join(scratch, 'microphone.wav');
writeFileSync(microphone, Buffer.concat([wavHeader(audio.length), audio]));

const stage = await Stage.open();
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? findTestBrowser(),
  args: [
    '--no-sandbox',
    '--use-fake-ui-for-media-stream',
    '--use-fake-device-for-media-stream',
    `--use-file-for-fake-audio-capture=${microphone}%noloop`,
  ],
});
try {
  const account = await stage.account();
  const { url } = await stage.service('api');
  await stage.service('transcriber');
  const page = await openRecorder(url, account);
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
  await sleep((audio.length / BYTES_PER_SECOND) * 1000);
  const [{ id }] = await stage.sql('SELECT id FROM recordings WHERE account_id = $1', [account.id]);
  const finals = await storedFinals(stage, id);
  const { startedAt, shown } = await page.evaluate(() => ({ startedAt: window.startedAt, shown: window.shown }));
  console.log(
    JSON.stringify({
      cores: os.availableParallelism(),
      load: os.loadavg()[0],
      audioSeconds: audio.length / BYTES_PER_SECOND,
      total: distribution(delaysOf(finals, startedAt, shown)),
    }),
  );
} finally {
  await browser.close();
  await stage.close();
  rmSync(scratch, { recursive: true });
}
process.exit(0);

async function openRecorder(url, { headers }) {
  const asked = await fetch(`${url}/v1/account/sign-in-codes`, { method: 'POST', headers });
  const { code } = await asked.json();
  const context = await browser.newContext({ permissions: ['microphone'] });
  await context.addInitScript(watchWords);
  const page = await context.newPage();
  const exchanged = page.waitForResponse('**/v1/account/sign-in-codes/exchange');
  await page.goto(`${url}/#code=${code}`);
  await exchanged;
  await page.evaluate(() => (location.hash = '#/record'));
  return page;
}

/** Runs in the page before its scripts. */
function watchWords() {
  window.shown = [];
  const { start } = MediaRecorder.prototype;
  MediaRecorder.prototype.start = function begun(...parameters) {
    this.addEventListener('start', () => (window.startedAt = performance.now()));
    start.apply(this, parameters);
  };
  let last = '';
  setInterval(() => {
    const text = document.querySelector('.live-words')?.textContent ?? '';
    if (text !== last) window.shown.push({ at: performance.now(), text });
    last = text;
  }, 10);
}

/** From the end of each word until the page has it at its place. */
function delaysOf(finals, startedAt, shown) {
  const states = shown.map(({ at, text }) => ({ at, words: text.trim().split(/\s+/) }));
  return finals
    .flatMap((final) => final.words)
    .flatMap(({ word, end }, index) => {
      const state = states.find((each) => each.words[index] === word);
      return state ? [(state.at - startedAt) / 1000 - end] : [];
    });
}
