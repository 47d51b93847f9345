import { connect, createServer } from 'node:net';

const LOOPBACK = '127.0.0.1';

/**
 * Whether a server could listen there. Binding alone does not tell: on macOS a port of 127.0.0.1 can be bound while
 * somebody serves it on every address, so a connection is tried as well.
 */
export async function isFree(port, host = LOOPBACK) {
  return (await canListen(port, host)) && !(await answers(port));
}

/** The first port that is free, from the given one on. */
export async function nextFreePort(first, host) {
  for (let port = first; port <= 65_535; port++) {
    if (await isFree(port, host)) return port;
  }
  throw new Error(`No port from ${first} on is free.`);
}

/** The given port if it is free, else any free one of the loopback address. */
export async function freePort(preferred) {
  if (preferred && (await isFree(preferred))) return preferred;
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, LOOPBACK, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Whether somebody accepts connections on that port of the loopback address. */
function answers(port) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: LOOPBACK, timeout: 1000 });
    const end = (value) => {
      socket.destroy();
      resolve(value);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
}

function canListen(port, host) {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
