import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { originForm, REALTIME_PATH } from './request-line.js';

/** The connection of a request that asks for another protocol, and what came behind its head. */
export interface Upgrade {
  socket: Duplex;
  head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Undefined for an ordinary request. */
export const upgradeOf = (request: IncomingMessage): Upgrade | undefined => upgrades.get(request);

/** Other requests to upgrade are answered as if they had not asked for it (RFC 9110 §7.8). */
export function asksForWebSocket({ method, url = '', headers }: IncomingMessage): boolean {
  if (method !== 'GET' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
  return originForm(url).split('?', 1)[0] === REALTIME_PATH;
}

/** Milliseconds that a client may keep a connection open whose request was refused. */
const GRACE_MS = 1000;

/**
 * The response to a request that Node has handed over with its connection. Unless a handler takes the connection with
 * {@link switchProtocols}, the response is an ordinary one, and the last of the connection.
 */
export function responseToUpgrade(request: IncomingMessage, upgrade: Upgrade): ServerResponse {
  const { socket } = upgrade;
  upgrades.set(request, upgrade);
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(request.socket);
  socket.on('error', () => socket.destroy());
  response.once('finish', () => {
    socket.end();
    // Else the end of the client's half would not be noticed.
    socket.resume();
    setTimeout(() => socket.destroy(), GRACE_MS).unref();
  });
  return response;
}

/** Ends the response without writing it: the connection now speaks another protocol. */
export function switchProtocols(request: IncomingMessage, response: ServerResponse): void {
  upgrades.delete(request);
  response.detachSocket(request.socket);
  response.statusCode = 101;
  response.destroyed = true;
  response.emit('close');
}
