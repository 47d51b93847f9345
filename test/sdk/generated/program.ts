/**
 * Uploads a recording, waits for it, verifies its webhook and reads typed events, with the generated client alone.
 * Usage: program.js BASE_URL AUDIO_FILE, with the variables API_KEY and API_SECRET.
 */
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from './typescript/client/index.js';
import {
  eventFeedList,
  eventTypesList,
  recordingsGet,
  recordingsUpload,
  transcriptionsGet,
  type Webhooks,
  webhooksCreate,
} from './typescript/index.js';

const SECRET = 'a-secret-of-at-least-16-characters';
const WAIT_MS = 120_000;

const [baseUrl = '', path = ''] = process.argv.slice(2);
const { API_KEY, API_SECRET } = process.env;
const client = createClient({
  baseUrl,
  auth: ({ name }) => ({ 'X-Service-API-Key': API_KEY, 'X-Service-API-Secret': API_SECRET })[name ?? ''],
});
const calls = { client, throwOnError: true } as const;

/** https://www.standardwebhooks.com */
function isSigned(headers: NodeJS.Dict<string | string[]>, body: string): boolean {
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const digest = createHmac('sha256', SECRET).update(content).digest('base64');
  return String(headers['webhook-signature']).split(' ').includes(`v1,${digest}`);
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    response.writeHead(204).end();
    server.emit('event', request.headers, Buffer.concat(chunks).toString());
  });
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
const arrives = once(server, 'event', { signal: AbortSignal.timeout(WAIT_MS) });
await webhooksCreate({
  ...calls,
  body: { url: `http://127.0.0.1:${port}/`, events: ['recording.transcribed'], secret: SECRET },
});

const file = new File([await readFile(path)], 'note.wav');
const { data: recording } = await recordingsUpload({
  ...calls,
  body: { file, language: 'english', custom_tags: '{"ticket":"T-1"}' },
});
const deadline = Date.now() + WAIT_MS;
let status: string = 'processing';
while (status === 'processing' && Date.now() < deadline) {
  await sleep(200);
  status = (await recordingsGet({ ...calls, path: { recording_id: recording.id } })).data.status;
}
const { data: transcription } = await transcriptionsGet({ ...calls, path: { recording_id: recording.id } });
const text = typeof transcription === 'string' ? transcription : transcription.text;

const [headers, body] = (await arrives) as [NodeJS.Dict<string | string[]>, string];
const event = JSON.parse(body) as Webhooks['body'];
const seconds = event.event === 'recording.transcribed' ? event.recording.duration : null;

const { data: feed } = await eventFeedList({ ...calls, query: { after: '0' } });
const kinds = feed.events.flatMap(({ body: content }) =>
  content.event === 'recording.accepted' || content.event === 'recording.transcribed'
    ? [`${content.event} ${content.recording.status}`]
    : [],
);

const { response } = await recordingsGet({ client, path: { recording_id: 'no-id' } });
const { data: types } = await eventTypesList(calls);

console.log(
  JSON.stringify({
    id: recording.id,
    status,
    text,
    signed: isSigned(headers, body),
    forged: isSigned(headers, `${body} `),
    event: event.event,
    seconds,
    kinds,
    refusal: response?.status,
    types: types.event_types.map(({ name }) => name),
  }),
);
server.close();
