import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP server that keeps to no protocol: each connection is handed to `behave`, which does its worst. */
export class HostileReceiver {
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  static async listen(behave: (socket: Socket) => void): Promise<HostileReceiver> {
    const server = createServer();
    const receiver = new HostileReceiver(server);
    server.on('connection', (socket) => {
      receiver.sockets.add(socket);
      socket.on('close', () => receiver.sockets.delete(socket));
      // Clients hang up on this server all the time; that is the point.
      socket.on('error', () => socket.destroy());
      behave(socket);
      // Without reading it would never notice that the other side is gone.
      socket.resume();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get openConnections(): number {
    return this.sockets.size;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Writes chunks for as long as the other side takes them. */
export function writeForever(socket: Socket, chunk: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

/** Writes a chunk again and again, `everyMs` apart, until the other side hangs up. */
export function drip(socket: Socket, chunk: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(chunk), everyMs);
  socket.on('close', () => clearInterval(timer));
}
