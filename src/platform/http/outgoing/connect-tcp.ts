import { once } from 'node:events';
import { connect, createServer, isIPv4, type Socket } from 'node:net';
import { OutgoingRequestError } from './outgoing-error.js';

/** The source address of connections, by family. If only one family has one, addresses of the other are not connected to. */
export interface SourceAddresses {
  ipv4: string | null;
  ipv6: string | null;
}

interface Options {
  sources: SourceAddresses;
  signal: AbortSignal;
}

/** Node's default of 250 ms is too short for an address on another continent. */
export const NEXT_ADDRESS_AFTER_MS = 1000;
const KEEP_ALIVE_AFTER_MS = 60_000;

/**
 * Connects to the first address that answers. Node itself ignores `localAddress` where it tries several addresses.
 * @throws the error of the last address, or the signal's reason
 */
export async function connectTcp(ips: readonly string[], port: number, { sources, signal }: Options): Promise<Socket> {
  const isFixed = sources.ipv4 !== null || sources.ipv6 !== null;
  const sourceOf = (ip: string): string | null => (isIPv4(ip) ? sources.ipv4 : sources.ipv6);
  const reachable = isFixed ? ips.filter((ip) => sourceOf(ip) !== null) : ips;
  return await firstToConnect(reachable, signal, (ip, ends) => connectTo(ip, port, sourceOf(ip), ends));
}

/**
 * Tries one address after the other, each but the last for a second.
 * @param isFinal errors after which no other address is tried
 * @throws the error of the last address, or the signal's reason
 */
export async function firstToConnect(
  addresses: readonly string[],
  signal: AbortSignal,
  open: (address: string, signal: AbortSignal) => Promise<Socket>,
  isFinal: (error: unknown) => boolean = () => false,
): Promise<Socket> {
  let last: unknown = new OutgoingRequestError('connect', 'this service reaches none of the addresses of the host');
  for (const [i, address] of addresses.entries()) {
    const isLast = i === addresses.length - 1;
    const ends = isLast ? signal : AbortSignal.any([signal, AbortSignal.timeout(NEXT_ADDRESS_AFTER_MS)]);
    try {
      return await open(address, ends);
    } catch (error) {
      signal.throwIfAborted();
      if (isFinal(error)) throw error;
      last = error;
    }
  }
  throw last;
}

async function connectTo(host: string, port: number, source: string | null, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  const socket = connect({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS,
    ...(source !== null && { localAddress: source }),
  });
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.on('error', () => undefined).destroy();
    throw error;
  }
}

/** Whether this machine has an address. */
export async function listensOn(address: string): Promise<boolean> {
  const server = createServer().listen({ host: address, port: 0 });
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
