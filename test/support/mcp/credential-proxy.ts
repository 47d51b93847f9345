import { createServer, request as send, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Adds credentials to every request, for programs that cannot send any. */
export class CredentialProxy {
  /** Where it listens, as an origin. */
  origin = '';
  /** Of the service, and of an account there. */
  target = '';
  headers: Record<string, string> = {};
  private readonly server: Server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, ...this.headers };
    const forwarded = send(`${this.target}${incoming.url}`, { method: incoming.method ?? 'GET', headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.origin = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
