import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A proxy as companies have them: for http and https by CONNECT, for http also by the whole address. */
export class ConnectProxy {
  /** Hosts that were asked for. */
  readonly hosts: string[] = [];

  private constructor(
    private readonly server: Server,
    private readonly credentials: string | null,
  ) {}

  /** @param credentials as `user:password`; without them it refuses with 407 */
  static async start(credentials: string | null = null): Promise<ConnectProxy> {
    const server = createServer();
    const proxy = new ConnectProxy(server, credentials);
    server.on('connect', (message: IncomingMessage, socket: Socket) => proxy.tunnel(message, socket));
    server.on('request', (message, response) => proxy.forward(message, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private tunnel(message: IncomingMessage, socket: Socket): void {
    socket.on('error', () => undefined);
    if (!this.admits(message)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const [host = '', port = '80'] = (message.url ?? '').split(':');
    this.hosts.push(message.url ?? '');
    const far = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    far.on('error', () => socket.destroy());
    far.on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
  }

  private forward(message: IncomingMessage, response: ServerResponse): void {
    if (!this.admits(message)) return void response.writeHead(407).end();
    const url = new URL(message.url ?? '');
    this.hosts.push(url.host);
    const far = request(url, { method: message.method, headers: message.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    far.on('error', () => response.destroy());
    message.pipe(far);
  }

  private admits({ headers }: IncomingMessage): boolean {
    if (this.credentials === null) return true;
    return headers['proxy-authorization'] === `Basic ${Buffer.from(this.credentials).toString('base64')}`;
  }
}
