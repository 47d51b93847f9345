import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Agent } from 'undici';
import type { Env } from '../../config/env.js';
import { TRANSIT_KEY_PATH } from '../../config/env-reader.js';
import { clientCertificate, Egress } from '../../http/outgoing/egress.js';
import { describeError, ProxyFailedError } from '../../http/outgoing/outgoing-error.js';
import { StorageUnavailableError } from '../file-system.js';
import type { KeyWrapper } from './key-wrapper.js';

const CONNECT_MS = 2000;
/** For a request with its answer. */
const LIMIT_MS = 4000;
/** After a failure, in which the next requests fail at once: none of them waits for a server that does not answer. */
const REST_MS = 1000;
const MAX_ANSWER_BYTES = 65_536;
const CIPHERTEXT = /^vault:v\d{1,9}:[\w+/=]{1,4096}$/;
const DIGEST_BYTES = 32;

export type TransitSettings = Pick<
  Env,
  'storageKmsUrl' | 'storageKmsToken' | 'storageKmsClientCert' | 'storageKmsClientKey'
> &
  Partial<Env>;

type Operation = 'encrypt' | 'decrypt' | 'rewrap';

/** An answer of 400: the server has understood the request, and says that the data is wrong. */
class TransitRefusedError extends Error {}

/**
 * Wraps by a key of the engine Transit of HashiCorp Vault or OpenBao, which that never gives away. The text says so, and
 * which key it was: `kms:transit/voice-notes:vault:v2:…`. What is encrypted ends with a digest of the context, so that a
 * text is of its row with every kind of key, after a rewrap too, which takes no `associated_data`.
 */
export class TransitKeyWrapper implements KeyWrapper {
  private readonly origin: string;
  private readonly mount: string;
  private readonly name: string;
  /** What its texts begin with. */
  private readonly prefix: string;
  private readonly agent: Agent;
  private token: string | null;
  private restsUntil = 0;

  constructor(
    url: string,
    private readonly settings: TransitSettings,
  ) {
    const { origin, pathname } = new URL(url);
    const [, mount, name] = TRANSIT_KEY_PATH.exec(pathname) as unknown as [string, string, string];
    [this.origin, this.mount, this.name] = [origin, mount, name];
    this.prefix = `kms:${mount}/${name}:`;
    this.token = settings.storageKmsToken?.value ?? null;
    const certificate = clientCertificate(settings.storageKmsClientCert, settings.storageKmsClientKey);
    const connect = Egress.of(settings).connector({ timeoutMs: CONNECT_MS, certificate });
    // The limit of each request is that of its signal.
    this.agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 });
  }

  async wrap(key: Buffer, context: string): Promise<string> {
    const plaintext = Buffer.concat([key, digestOf(context)]).toString('base64');
    return await this.proved(await this.encrypt(plaintext, context), context, key);
  }

  canUnwrap(text: string): boolean {
    return text.startsWith(this.prefix);
  }

  async unwrap(text: string, context: string): Promise<Buffer> {
    const { plaintext } = await this.call('decrypt', { ciphertext: text.slice(this.prefix.length) }, context);
    const bytes = typeof plaintext === 'string' ? Buffer.from(plaintext, 'base64') : Buffer.alloc(0);
    if (bytes.length <= DIGEST_BYTES) throw this.problem('answered what is no key');
    if (!bytes.subarray(-DIGEST_BYTES).equals(digestOf(context))) throw new Error('it is the key of another row');
    return bytes.subarray(0, -DIGEST_BYTES);
  }

  async rewrap(text: string, context: string): Promise<string> {
    const { ciphertext } = await this.call('rewrap', { ciphertext: text.slice(this.prefix.length) }, context);
    return await this.proved(this.textOf(ciphertext), context);
  }

  /** Needs no right but that to encrypt. */
  async currentPrefix(): Promise<string> {
    const text = await this.encrypt(Buffer.from('probe').toString('base64'), 'probe');
    return text.slice(0, text.lastIndexOf(':') + 1);
  }

  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async encrypt(plaintext: string, context: string): Promise<string> {
    try {
      return this.textOf((await this.call('encrypt', { plaintext }, context)).ciphertext);
    } catch (error) {
      if (error instanceof TransitRefusedError) throw this.problem('has no such key, or refuses to use it');
      throw error;
    }
  }

  private textOf(ciphertext: unknown): string {
    if (typeof ciphertext !== 'string' || !CIPHERTEXT.test(ciphertext))
      throw this.problem('answered what is no ciphertext');
    return this.prefix + ciphertext;
  }

  /** A text is used only once the server has given back from it what was wrapped: nothing else opens the audio. */
  private async proved(text: string, context: string, key?: Buffer): Promise<string> {
    const isSame = await this.unwrap(text, context).then(
      (found) => key === undefined || found.equals(key),
      (error: unknown) => {
        if (error instanceof StorageUnavailableError) throw error;
        return false;
      },
    );
    if (!isSame) throw this.problem('does not give back what it wrapped');
    return text;
  }

  /** @throws StorageUnavailableError, TransitRefusedError */
  private async call(
    operation: Operation,
    fields: Record<string, string>,
    context: string,
  ): Promise<Record<string, unknown>> {
    // A key that says `derived` takes the context, others ignore it.
    const body = JSON.stringify({ ...fields, context: Buffer.from(context).toString('base64') });
    const used = this.token;
    let answer = await this.send(operation, body);
    // Another token may be in the file since: they expire.
    if (answer.status === 403 && (await this.readToken()) !== used) answer = await this.send(operation, body);
    const { status } = answer;
    if (status === 400) throw new TransitRefusedError('the KMS refused it');
    if (status === 403) throw this.problem(`refuses STORAGE_KMS_TOKEN for ${operation} (403)`);
    if (status === 404) throw this.problem('has no such path as that of STORAGE_KMS_URL (404)');
    if (status !== 200) throw this.failed(`answered ${status}${status === 503 ? ': it may be sealed' : ''}`);
    const data = dataOf(answer.body);
    if (data === null) throw this.problem('answered what is not of its protocol');
    return data;
  }

  /** Once more where the connection ends without an answer: the server may have closed one that was kept. */
  private async send(operation: Operation, body: string): Promise<{ status: number; body: string }> {
    if (performance.now() < this.restsUntil) throw this.problem('failed a moment ago');
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.request(operation, body);
      } catch (error) {
        if (error instanceof StorageUnavailableError) throw error;
        const { kind, message } = describeError(error);
        if (kind === 'reset' && attempt === 1) continue;
        const isLate = error instanceof DOMException;
        const what = error instanceof ProxyFailedError ? error.message : message;
        throw this.failed(isLate ? `gives no answer within ${LIMIT_MS} ms` : `cannot be asked: ${what}`);
      }
    }
  }

  private async request(operation: Operation, body: string): Promise<{ status: number; body: string }> {
    const { token } = this;
    const answer = await this.agent.request({
      origin: this.origin,
      path: `/v1/${this.mount}/${operation}/${this.name}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== null && { 'x-vault-token': token }) },
      body,
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw this.failed('answered more than it has to say');
      chunks.push(chunk);
    }
    return { status: answer.statusCode, body: Buffer.concat(chunks).toString('utf8') };
  }

  private async readToken(): Promise<string | null> {
    const file = this.settings.storageKmsToken?.file;
    if (!file) return this.token;
    const read = await readFile(file, 'utf8').catch(() => '');
    return (this.token = read.trim() || this.token);
  }

  private failed(what: string): StorageUnavailableError {
    this.restsUntil = performance.now() + REST_MS;
    return this.problem(what);
  }

  /** Never with what the server said: it may repeat a key or the token. */
  private problem(what: string): StorageUnavailableError {
    return new StorageUnavailableError(`the KMS at ${this.origin} ${what}`);
  }
}

const digestOf = (context: string): Buffer => hash('sha256', context, 'buffer');

function dataOf(body: string): Record<string, unknown> | null {
  try {
    const { data } = JSON.parse(body) as { data?: unknown };
    return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
