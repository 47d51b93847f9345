import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';

/** Answers at once. `arrivals` holds the time at which the first event of each recording came, `counts` how often each event did. */
export async function receiveEvents() {
  const [arrivals, counts] = [new Map(), new Map()];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const { id } = JSON.parse(text).recording;
      const event = request.headers['x-service-event-id'];
      counts.set(event, (counts.get(event) ?? 0) + 1);
      if (!arrivals.has(id)) arrivals.set(id, Date.now());
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, arrivals, counts, close };
}

/** Takes connections and never answers. */
export async function hang() {
  const sockets = new Set();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
    socket.resume();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, connections: () => sockets.size, close };
}

/** Through the API, because a secret only decrypts with the id of its webhook. */
export async function subscribe(service, { headers }, url) {
  const answer = await fetch(`${service.url}/v1/webhooks`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url, events: ['recording.transcribed'] }),
  });
  if (answer.status !== 201) throw new Error(`webhook: ${answer.status} ${await answer.text()}`);
}
