import type { IncomingMessage } from 'node:http';

const isLate = Symbol('its head was read after its connection was closed');

/** Undefined while the constructor of `IncomingMessage` runs. */
type Received = { socket?: IncomingMessage['socket']; [isLate]?: boolean };

/**
 * Node parses all requests of a chunk of 64 KB, up to 3000 of them, also when the first ones have the connection
 * closed; everybody else waits meanwhile. It stops after a request that upgrades to another protocol, so those behind
 * a closed connection say that they do. Measured: 126 instead of 10,080 requests parsed, 45 instead of 280 ms.
 * @param prototype of all requests of a server that takes no upgrades
 */
export function endParsingWithConnection(prototype: IncomingMessage): void {
  Object.defineProperty(prototype, 'upgrade', {
    configurable: true,
    get(this: Received) {
      return this[isLate];
    },
    // Node sets it when it has read the head. Later a body may be in progress, whose end Node has to tell.
    set(this: Received) {
      this[isLate] ??= this.socket?.destroyed === true;
    },
  });
}
