import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Serve = (request: IncomingMessage, response: ServerResponse, url: URL) => void;

/** A host of links: each path is served by what the test has set for it, with all requests noted. */
export class LinkSource {
  readonly requests: { path: string; range: string | undefined; ifRange: string | undefined }[] = [];
  private readonly served = new Map<string, Serve>();

  private constructor(private readonly server: Server) {
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const url = new URL(request.url ?? '/', 'http://link-source');
      const { range, 'if-range': ifRange } = request.headers;
      this.requests.push({ path: url.pathname, range, ifRange: [ifRange].flat()[0] });
      const serve = this.served.get(url.pathname);
      if (serve) serve(request, response, url);
      else response.writeHead(404).end('no such file');
    });
  }

  static async listen(server: Server = createServer()): Promise<LinkSource> {
    const source = new LinkSource(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return source;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** @returns the URL of the path. */
  serve(path: string, serve: Serve): string {
    this.served.set(path, serve);
    return `http://127.0.0.1:${this.port}${path}`;
  }

  requestsOf(path: string): LinkSource['requests'] {
    return this.requests.filter((request) => request.path === path);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
