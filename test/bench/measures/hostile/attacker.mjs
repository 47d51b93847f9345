// A worker thread that attacks one process until it is terminated: see attacks.mjs. Connections that the service closes
// are opened again.
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

const REOPEN_MS = 250;
const { port, attack, authorization } = workerData;

const head = (method, path, lines = []) =>
  [`${method} ${path} HTTP/1.1`, 'Host: attacked.test', ...lines].join('\r\n') + '\r\n\r\n';

/** What each connection sends at first and every `everyMs` after, and whether it reads. */
const ATTACKS = {
  pipelining: { connections: 6, first: head('GET', '/openapi.json').repeat(1700), reads: false },
  'slow bodies': {
    connections: 200,
    first: head('POST', '/v1/webhooks', [...authorization, 'Content-Type: application/json', 'Content-Length: 50000']),
    again: ' ',
    everyMs: 1000,
    reads: true,
  },
  'half heads': { connections: 3000, first: 'GET /v1/account HTTP/1.1\r\nHost: a\r\n', reads: true },
  'public pages': {
    connections: 30,
    first: '',
    again: head('GET', '/openapi.json') + head('GET', '/health/ready', ['X-Forwarded-For: 203.0.113.9']),
    everyMs: 200,
    reads: true,
  },
};

const { connections, first, again, everyMs, reads } = ATTACKS[attack];

function open() {
  const socket = connect({ port, host: '127.0.0.1' });
  let timer;
  socket.on('connect', () => {
    sockets.set(socket.localPort, socket);
    parentPort.postMessage(socket.localPort);
    if (reads) socket.resume();
    else socket.pause();
    if (first) socket.write(first);
    if (again) timer = setInterval(() => socket.write(again), everyMs);
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    clearInterval(timer);
    setTimeout(open, REOPEN_MS);
  });
}

const sockets = new Map();
/** A socket that is not read does not see its end; the measure looks it up in /proc. */
parentPort.on('message', (localPort) => {
  sockets.get(localPort)?.destroy();
  sockets.delete(localPort);
});
for (let i = 0; i < connections; i++) setTimeout(open, (i / connections) * 1000);
