/**
 * Uploads a folder of recordings to a running service and compares what comes back with what was said:
 *
 *   node test/bench/accuracy.mjs FOLDER [--url http://127.0.0.1:3000] [--key vnk_… --secret vns_…]
 *
 * FOLDER/manifest.json lists the recordings: [{ "file", "ref", "lang" }]. Without a key the demo account is used.
 * The word error rate is (substitutions + deletions + insertions) / words said, over all English recordings.
 */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { url: { type: 'string' }, key: { type: 'string' }, secret: { type: 'string' } },
});
const [folder] = positionals;
if (!folder) throw new Error('usage: node test/bench/accuracy.mjs FOLDER [--url URL] [--key KEY --secret SECRET]');
const url = values.url ?? 'http://127.0.0.1:3000';
const demo = values.key ? null : JSON.parse(readFileSync(join(import.meta.dirname, '../../.data/demo.json'), 'utf8'));
const headers = {
  'X-Service-API-Key': values.key ?? demo.apiKey,
  'X-Service-API-Secret': values.secret ?? demo.apiSecret,
};
const ACCEPTED = new Set(['.wav', '.mp3', '.ogg', '.webm']);

const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
const entries = manifest.filter(({ file }) => ACCEPTED.has(extname(file)));
const total = { errors: 0, words: 0 };
for (const { file, ref, lang } of entries) {
  const { text, confidence, status } = await transcribe(join(folder, file));
  const errors = wordErrors(words(ref), words(text));
  if (lang === 'english') {
    total.errors += errors;
    total.words += words(ref).length;
  }
  const rate = lang === 'english' ? `${((100 * errors) / words(ref).length).toFixed(0)} %`.padStart(6) : lang;
  console.log(
    `${basename(file).padEnd(32)} ${status} ${rate}  confidence ${confidence.toFixed(2)}\n    expected ${ref}\n    actual   ${text}`,
  );
}
console.log(`word error rate over ${total.words} words: ${((100 * total.errors) / total.words).toFixed(1)} %`);

async function transcribe(path) {
  const form = new FormData();
  form.append('file', new Blob([await readFile(path)]), basename(path));
  const { id } = await call('/v1/recordings', { method: 'POST', body: form });
  for (;;) {
    await delay(500);
    const recording = await call(`/v1/recordings/${id}`);
    if (recording.status === 'processing') continue;
    if (recording.status === 'failed') return { status: 'failed', text: '', confidence: 0 };
    return { status: recording.status, ...(await call(`/v1/recordings/${id}/transcription`)) };
  }
}

/** Waits when the plan's limit is reached. */
async function call(path, options = {}) {
  for (;;) {
    const response = await fetch(url + path, { ...options, headers });
    const body = await response.json();
    if (response.status !== 429) return body;
    await delay(body.error.details.retry_after * 1000);
  }
}

function words(text) {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[^\p{L}\p{N}' ]/gu, ' ')
    .split(/\s+/)
    .filter(Boolean);
}

/** Levenshtein distance over words. */
function wordErrors(expected, actual) {
  let row = actual.map((_, i) => i + 1);
  said.forEach((word, i) => {
    let corner = i;
    let left = i + 1;
    row = row.map((above, j) => {
      const cost = Math.min(above + 1, left + 1, corner + (word === actual[j] ? 0 : 1));
      corner = above;
      left = cost;
      return cost;
    });
  });
  return row.at(-1) ?? said.length;
}
