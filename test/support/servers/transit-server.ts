import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';

/** What it does in place of an answer. `silent`: takes the request; `cut`: ends its connection. */
export type TransitFault = 'silent' | 'cut' | 'sealed' | 'nonsense' | 'other ciphertext';

interface TransitKey {
  versions: Buffer[];
  /** Whether each context has a key of its own. */
  derived: boolean;
  minDecryptionVersion: number;
}

interface TransitRequest {
  path: string;
  token: string | null;
  /** In the certificate that the client has shown. */
  name: string | null;
}

const ROUTE = /^\/v1\/transit\/(encrypt|decrypt|rewrap)\/([\w.-]+)$/;

class TransitError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The engine Transit of HashiCorp Vault and OpenBao as they answer: AES-256-GCM under the versions of keys, tokens, contexts of
 * derived keys, their statuses and bodies. `rewrap` takes no associated data, as theirs.
 */
export class TransitServer {
  readonly requests: TransitRequest[] = [];
  readonly tokens = new Set<string>();
  fault: TransitFault | null = null;
  private readonly keys = new Map<string, TransitKey>();

  private constructor(private readonly server: Server) {}

  /** @param tls of a server that asks clients for certificates */
  static async start({ port = 0, tls }: { port?: number; tls?: ServerOptions } = {}): Promise<TransitServer> {
    const options = { requestCert: true, rejectUnauthorized: true, ...tls };
    const server = tls ? createSecureServer(options) : createServer();
    const transit = new TransitServer(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => void transit.serve(request, response));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return transit;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  keyUrl(name: string, host = '127.0.0.1', scheme = 'http'): string {
    return `${scheme}://${host}:${this.port}/v1/transit/keys/${name}`;
  }

  createKey(name: string, { derived = false } = {}): void {
    this.keys.set(name, { versions: [randomBytes(32)], derived, minDecryptionVersion: 1 });
  }

  rotate(name: string): void {
    this.keyOf(name).versions.push(randomBytes(32));
  }

  /** What was encrypted under earlier versions cannot be decrypted any more. */
  requireVersion(name: string, version: number): void {
    this.keyOf(name).minDecryptionVersion = version;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = (request.headers['x-vault-token'] as string | undefined) ?? null;
    const subject = 'encrypted' in request.socket ? (request.socket as TLSSocket).getPeerCertificate().subject : null;
    this.requests.push({ path: request.url ?? '', token, name: subject ? String(subject.CN) : null });
    const answer = (status: number, body: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (this.fault === 'silent') return;
    if (this.fault === 'cut') return void request.socket.destroy();
    if (this.fault === 'sealed') return answer(503, { errors: ['Vault is sealed'] });
    // Some servers repeat what they were sent.
    if (this.fault === 'nonsense')
      return void response.end(`<html>${token} ${JSON.stringify(await json(request))}</html>`);
    try {
      const data = this.run(request, (await json(request)) as Record<string, string>);
      const none = { wrap_info: null, warnings: null, auth: null };
      answer(200, { request_id: 'r', lease_id: '', renewable: false, lease_duration: 0, data, ...none });
    } catch (error) {
      if (!(error instanceof TransitError)) throw error;
      answer(error.status, { errors: [error.message] });
    }
  }

  private run(request: IncomingMessage, fields: Record<string, string>): object {
    const [, operation, name] = ROUTE.exec(request.url ?? '') ?? [];
    if (request.method !== 'POST' || name === undefined) throw new TransitError(404, 'no handler for route');
    if (!this.tokens.has(String(request.headers['x-vault-token']))) throw new TransitError(403, 'permission denied');
    const key = this.keyOf(name);
    if (key.derived && !fields.context) throw new TransitError(400, "missing 'context' for key derivation");
    const context = Buffer.from(fields.context ?? '', 'base64');
    const { plaintext = '', ciphertext = '' } = fields;
    if (operation === 'encrypt') return this.encrypt(key, context, plaintext);
    const opened = decrypt(key, context, ciphertext);
    return operation === 'decrypt' ? { plaintext: opened } : this.encrypt(key, context, opened);
  }

  private encrypt(key: TransitKey, context: Buffer, plaintext: string): object {
    const version = key.versions.length;
    const bytes = this.fault === 'other ciphertext' ? randomBytes(64) : Buffer.from(plaintext, 'base64');
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', secretOf(key, version, context), nonce);
    const sealed = Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    return { ciphertext: `vault:v${version}:${sealed.toString('base64')}`, key_version: version };
  }

  private keyOf(name: string): TransitKey {
    const key = this.keys.get(name);
    if (!key) throw new TransitError(400, 'encryption key not found');
    return key;
  }
}

function secretOf({ versions, derived }: TransitKey, version: number, context: Buffer): Buffer {
  const secret = versions[version - 1];
  if (!secret) throw new TransitError(400, 'invalid ciphertext: version is too new');
  return derived ? Buffer.from(hkdfSync('sha256', secret, '', context, 32)) : secret;
}

/** @returns base64 */
function decrypt(key: TransitKey, context: Buffer, ciphertext: string): string {
  const [, version, text] = /^vault:v(\d+):(.+)$/.exec(ciphertext) ?? [];
  if (version === undefined || text === undefined) throw new TransitError(400, 'invalid ciphertext: no prefix');
  if (Number(version) < key.minDecryptionVersion)
    throw new TransitError(400, 'ciphertext or signature version is disallowed by policy (too old)');
  const bytes = Buffer.from(text, 'base64');
  const decipher = createDecipheriv('aes-256-gcm', secretOf(key, Number(version), context), bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(-16));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('base64');
  } catch {
    throw new TransitError(400, 'cipher: message authentication failed');
  }
}
