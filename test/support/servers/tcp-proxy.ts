import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy between the service and one of its servers, which the test can cut, freeze and mend. */
export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private server: Server = createServer();
  private frozen = false;

  private constructor(private target: URL) {}

  /** @param url of the server, as in `DATABASE_URL` or `REDIS_URL`. */
  static async to(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url));
    await proxy.listen(0);
    return proxy;
  }

  /** The server's URL by way of this proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String(this.port);
    return url.href;
  }

  /** From now on new connections lead to another server. Those that are open stay. */
  redirect(url: string): void {
    this.target = new URL(url);
  }

  /** Connections break, and new ones are refused. */
  async cut(): Promise<void> {
    this.port = (this.server.address() as AddressInfo).port;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Connections stay, also new ones are accepted, but not a byte passes; with `onlyOpen` new ones work. */
  freeze({ onlyOpen = false } = {}): void {
    this.frozen = !onlyOpen;
    for (const socket of this.sockets) socket.pause();
  }

  /** Undoes `cut` and `freeze`: what was held back while frozen passes now. */
  async mend(): Promise<void> {
    this.frozen = false;
    for (const socket of this.sockets) socket.resume();
    if (!this.server.listening) await this.listen(this.port);
  }

  async close(): Promise<void> {
    if (this.server.listening) await this.cut();
  }

  private port = 0;

  private async listen(port: number): Promise<void> {
    this.server = createServer((near) => this.join(near));
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as AddressInfo).port;
  }

  private join(near: Socket): void {
    const far = connect({ host: this.target.hostname, port: Number(this.target.port) });
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      from.setNoDelay();
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => from.destroy());
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      if (this.frozen) from.pause();
    }
  }
}
