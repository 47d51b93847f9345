// Starts the built service as an operator does, sends it a voice note, reads the text, waits for the webhook and stops
// it. What the e2e tests cannot see, for they run TypeScript under jest: that the modules of `dist` load each other in Node.
// node scripts/services.mjs --temporary -- node scripts/smoke.mjs
// SMOKE_COMMAND names what starts it in place of `node dist/main.js`, such as an image.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';

import { migrate, runCli } from './lib/application.mjs';
import { Client } from './lib/client.mjs';
import { SAMPLE, waitForTranscription } from './lib/demo.mjs';
import { ROOT } from './lib/paths.mjs';
import { freePort } from './lib/ports.mjs';
import { spawnServer, tailOf, waitUntil } from './lib/processes.mjs';

const READY_TIMEOUT_MS = 30_000;
const EXIT_TIMEOUT_MS = 10_000;

const folder = mkdtempSync(join(tmpdir(), 'voice-notes-smoke-'));
const logFile = join(folder, 'service.log');
const port = await freePort();
const env = {
  ...process.env,
  PORT: String(port),
  HOST: '127.0.0.1',
  SECRET_KEY: randomBytes(32).toString('hex'),
  STORAGE_DIR: process.env.STORAGE_DIR ?? join(folder, 'storage'),
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
};

const receiver = createServer();
const delivered = new Promise((resolve) => {
  receiver.on('request', (request, response) => {
    response.end();
    void json(request).then(resolve);
  });
});
receiver.listen(0, '127.0.0.1');

await migrate(env);
const [program, ...args] = process.env.SMOKE_COMMAND?.split(' ') ?? [process.execPath, 'dist/main.js'];
const service = spawnServer(program, args, { cwd: ROOT, env, logFile });
const exit = new Promise((resolve) => service.once('exit', (code, signal) => resolve(code ?? signal)));
try {
  await tryService();
  service.kill('SIGTERM');
  const late = new Promise((resolve) => setTimeout(resolve, EXIT_TIMEOUT_MS, 'not in time').unref());
  assert.equal(await Promise.race([exit, late]), 0, 'the exit code after SIGTERM');
  console.log('The built service starts, transcribes, delivers and stops.');
} catch (error) {
  console.error(`${error.stack}\n\nThe end of its log:\n${tailOf(logFile, 0, 40)}`);
  process.exitCode = 1;
} finally {
  service.kill('SIGKILL');
  await exit;
  receiver.close();
  receiver.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}

async function tryService() {
  const baseUrl = `http://127.0.0.1:${port}`;
  const isReady = () =>
    fetch(`${baseUrl}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitUntil(async () => service.exitCode !== null || (await isReady()), READY_TIMEOUT_MS, 50);
  assert.ok(await isReady(), 'the service is ready');

  const page = await (await fetch(baseUrl)).text();
  const [script] = page.match(/\/assets\/[^"]+\.js/) ?? [];
  const { headers } = await fetch(baseUrl + script, { headers: { 'Accept-Encoding': 'br' } });
  assert.equal(headers.get('content-encoding'), 'br', `the console's ${script}`);

  const made = await runCli(
    ['account:create', '--name', 'Smoke', '--email', `smoke-${process.pid}@example.com`, '--plan', 'pro'],
    env,
  );
  const client = new Client({ baseUrl, apiKey: made.api_key, apiSecret: made.api_secret });
  const webhook = { url: `http://127.0.0.1:${receiver.address().port}/`, events: ['recording.transcribed'] };
  assert.equal((await client.createWebhook(webhook)).status, 201);
  const uploaded = await client.upload(SAMPLE);
  assert.equal(uploaded.status, 201, JSON.stringify(uploaded.body));
  const transcription = await waitForTranscription(client, uploaded.body.id);
  assert.match(transcription.text, /best of times/i);
  const late = new Promise((_, reject) => setTimeout(reject, READY_TIMEOUT_MS, new Error('no webhook')).unref());
  assert.equal((await Promise.race([delivered, late])).recording.id, uploaded.body.id);
}
