import type { IncomingMessage } from 'node:http';

const upgrade = Symbol('what Node has set');
const isLate = Symbol('its connection was closed before');

/** Undefined before the constructor of `IncomingMessage` has run. */
type Received = { socket?: IncomingMessage['socket']; [upgrade]?: boolean | null; [isLate]?: boolean };

/**
 * Node parses all requests of a chunk of 64 KB, up to 3000 of them, also when the first ones have the connection
 * closed; all other connections wait meanwhile. It stops after a request that upgrades to another protocol, so
 * `upgrade` is true behind a closed connection. Measured: 126 instead of 10,080 requests parsed, 45 instead of 280 ms.
 * @param prototype of all requests of a server
 */
export function endParsingWithConnection(prototype: IncomingMessage): void {
  Object.defineProperty(prototype, 'upgrade', {
    configurable: true,
    get(this: Received) {
      return this[isLate] || this[upgrade];
    },
    set(this: Received, value: boolean | null) {
      this[upgrade] = value;
      // As it is when the head was read. Later a body may be in progress, whose end Node has to tell.
      this[isLate] ??= this.socket?.destroyed === true;
    },
  });
}
