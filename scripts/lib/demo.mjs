import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { runCli } from './application.mjs';
import { Client } from './client.mjs';
import { readJsonIfAny, writeSecretFile } from './files.mjs';
import { DATA, ROOT } from './paths.mjs';
import { seconds, UserError } from './steps.mjs';

const DEMO_FILE = join(DATA, 'demo.json');
const DEMO_EMAIL = 'demo@example.com';
export const SAMPLE = join(ROOT, 'scripts', 'sample', 'voice-note.ogg');
const TRANSCRIPT_TIMEOUT_MS = 120_000;
const POLL_MS = 250;

/**
 * The account that the printed commands use: the one of the last start, while the service still knows it.
 * @returns {Promise<{ credentials: { apiKey: string, apiSecret: string, sample?: string }, detail: string }>}
 */
export async function demoAccount(baseUrl, env) {
  const kept = readJsonIfAny(DEMO_FILE);
  if (kept?.apiKey) {
    const { status } = await new Client({ baseUrl, ...kept }).account();
    if (status !== 401) return { credentials: kept, detail: `${kept.email}, kept in .data/demo.json` };
  }
  // The account of an earlier start is of no use when its credentials are lost.
  const args = ['--name', 'Demo', '--email', DEMO_EMAIL, '--plan', 'pro', '--allow-duplicate-email'];
  const made = await runCli(['account:create', ...args], env);
  const credentials = { email: DEMO_EMAIL, apiKey: made.api_key, apiSecret: made.api_secret };
  keep(credentials);
  return { credentials, detail: `${credentials.email}, plan pro, kept in .data/demo.json` };
}

/**
 * Sends the packaged voice note through the public API and waits for its text.
 * @param {string | null} model chosen for this start; each gets a recording of its own
 */
export async function transcribeSample(baseUrl, credentials, model) {
  const client = new Client({ baseUrl, ...credentials });
  const start = performance.now();
  // The key makes a second try harmless, should this one be interrupted before the recording's id is kept.
  const uploaded = await client.upload(SAMPLE, `packaged-sample${model ? `-${model}` : ''}`);
  if (uploaded.status !== 201) throw new UserError(`The sample was not accepted: ${describe(uploaded)}`);
  const recordingId = uploaded.body.id;
  const transcription = await waitForTranscription(client, recordingId);
  const sample = { recordingId, model };
  keep({ ...credentials, sample });
  return {
    sample,
    text: transcription.text,
    detail: `${relative(ROOT, SAMPLE)} transcribed in ${seconds(performance.now() - start)}`,
  };
}

export async function waitForTranscription(client, recordingId) {
  const deadline = Date.now() + TRANSCRIPT_TIMEOUT_MS;
  for (;;) {
    const answer = await client.transcription(recordingId);
    if (answer.status === 200) return answer.body;
    const wait = answer.body.error?.code === 'TRANSCRIPTION_NOT_READY' || answer.status === 429;
    if (!wait) {
      throw new UserError(`The sample was not transcribed: ${describe(answer)}`);
    }
    if (Date.now() > deadline)
      throw new UserError('The sample was not transcribed in time; see .data/logs/worker.log.');
    await sleep(POLL_MS);
  }
}

/** Opens the console signed in, once and within ten minutes. Browsers send no fragment to a server. */
export async function signInLink(baseUrl, credentials) {
  const { status, body } = await new Client({ baseUrl, ...credentials }).createSignInCode();
  // The demo account may have no requests left, or Redis may be unavailable: the key pair signs in as well.
  return status === 201 ? `${baseUrl}/#code=${body.code}  (once, within 10 minutes)` : `${baseUrl}/`;
}

/** Commands to copy, with credentials that work. */
export function printCommands(baseUrl, { apiKey, apiSecret, sample }) {
  const headers = `-H 'X-Service-API-Key: ${apiKey}' \\\n       -H 'X-Service-API-Secret: ${apiSecret}'`;
  const id = sample?.recordingId ?? '{recording_id}';
  console.log(`  Upload a voice note (webm, mp3, ogg, wav, m4a, aac, flac, amr):
  curl ${headers} \\
       -F ${shellQuote(`file=@"${SAMPLE}"`)} ${baseUrl}/v1/recordings

  List your recordings:
  curl ${headers} \\
       ${baseUrl}/v1/recordings

  Read a transcription:
  curl ${headers} \\
       ${baseUrl}/v1/recordings/${id}/transcription
`);
}

function keep(credentials) {
  writeSecretFile(DEMO_FILE, `${JSON.stringify(credentials, null, 2)}\n`);
}

function shellQuote(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function describe({ status, body }) {
  return `${status} ${JSON.stringify(body)}`;
}
