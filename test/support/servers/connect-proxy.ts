import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A proxy as companies have them: for http and https by CONNECT, for http also by the whole address. */
export class ConnectProxy {
  /** Hosts that were asked for. */
  readonly hosts: string[] = [];
  /** Source addresses of the connections. */
  readonly sources: (string | undefined)[] = [];
  /** Addresses of names, where it is the proxy that resolves. */
  readonly names = new Map<string, string>();
  /** Status of the answer to CONNECT; 200 connects. */
  status = 200;
  /** Takes connections and answers nothing. */
  isSilent = false;
  private readonly tunnels = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private credentials: string | null,
  ) {}

  /**
   * @param credentials as `user:password`; without them it refuses with 407
   * @param tls its certificate and key, for a proxy with TLS
   */
  static async start(
    credentials: string | null = null,
    { port = 0, tls }: { port?: number; tls?: { cert: string; key: string } } = {},
  ): Promise<ConnectProxy> {
    const server = tls ? createSecureServer(tls) : createServer();
    const proxy = new ConnectProxy(server, credentials);
    server.on('connect', (message: IncomingMessage, socket: Socket) => proxy.tunnel(message, socket));
    server.on('request', (message: IncomingMessage, response: ServerResponse) => proxy.forward(message, response));
    server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => proxy.sources.push(socket.remoteAddress));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Wants other credentials from now on. */
  changeCredentials(credentials: string): void {
    this.credentials = credentials;
  }

  /** Breaks all tunnels. */
  cut(): void {
    for (const socket of this.tunnels) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private tunnel(message: IncomingMessage, socket: Socket): void {
    socket.on('error', () => undefined);
    this.tunnels.add(socket);
    socket.on('close', () => this.tunnels.delete(socket));
    if (!this.admits(message)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    this.hosts.push(message.url ?? '');
    if (this.isSilent) return;
    if (this.status !== 200) return void socket.end(`HTTP/1.1 ${this.status} No\r\n\r\n`);
    const { hostname, port } = new URL(`http://${message.url}`);
    const host = hostname.replace(/^\[|\]$/g, '');
    const far = connect(Number(port) || 80, this.names.get(host) ?? host, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    far.on('error', () => socket.destroy());
    far.on('close', () => socket.destroy());
    socket.on('close', () => far.destroy());
  }

  private forward(message: IncomingMessage, response: ServerResponse): void {
    if (this.isSilent) return;
    if (!this.admits(message)) return void response.writeHead(407).end();
    if (message.url === '*') return void response.writeHead(400).end();
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
