import { lookup } from 'node:dns/promises';
import { request } from 'node:http';
import { isIP, isIPv4, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Logger } from '@nestjs/common';
import { Counter } from 'prom-client';
import { buildConnector, errors } from 'undici';
import { sharedRun } from '../../concurrency/shared-run.js';
import { type Env, InvalidEnvironmentError } from '../../config/env.js';
import { connectTcp, firstToConnect, listensOn, type SourceAddresses } from './connect-tcp.js';
import { HostMatcher } from './host-matcher.js';
import { MAX_HEADER_BYTES, OutgoingRequestError, ProxyFailedError, type ProxyFailure } from './outgoing-error.js';

type EgressSettings = Pick<Env, 'egressProxyUrl' | 'egressNoProxy' | 'egressProxyResolves' | 'egressSourceAddresses'>;

/** A certificate that this service shows when it is asked for one, with its key, as PEM. */
export interface ClientCertificate {
  cert: string;
  key: string;
}

/** Of two variables of the environment; null where they are not set. */
export const clientCertificate = (cert?: string | null, key?: string | null): ClientCertificate | null =>
  cert && key ? { cert, key } : null;

/** Where a connection goes. */
export interface Target {
  host: string;
  port: number;
  /** Checked addresses, to which alone the connection may go; null: the host is trusted, whatever it resolves to. */
  addresses: readonly string[] | null;
}

interface Proxy {
  host: string;
  port: number;
  isTls: boolean;
  authorization: string | null;
}

/** How long a proxy may take to show that it is there. */
const PROBE_MS = 2000;
const PROBE_KEPT_MS = 1000;
/** Statuses with which proxies refuse a host by their rules (RFC 9110 §15.5.4, RFC 7725). */
const FORBIDDING = new Set([403, 451]);

/**
 * The way out: through the proxy of EGRESS_PROXY_URL, and from the addresses of EGRESS_SOURCE_ADDRESSES. Everything that
 * is sent to hosts of clients, transcription servers and OpenID providers takes it (0048).
 */
export class Egress {
  private static readonly known = new WeakMap<Partial<EgressSettings>, Egress>();

  /** One for each environment, which knows whether the proxy works. */
  static of(env: Partial<EgressSettings>): Egress {
    const egress = Egress.known.get(env) ?? new Egress(env);
    Egress.known.set(env, egress);
    return egress;
  }

  /** By what went wrong. */
  readonly failures = new Counter({
    name: 'egress_proxy_failures_total',
    help: 'Requests that failed because of the proxy of EGRESS_PROXY_URL, by what went wrong.',
    labelNames: ['failure'],
    registers: [],
  });
  /** Whether the proxy may resolve the names of clients' hosts, and check the addresses. */
  readonly proxyResolves: boolean;
  private readonly logger = new Logger(Egress.name);
  private readonly proxy: Proxy | null;
  private readonly direct: HostMatcher;
  private readonly sources: SourceAddresses;
  private isFailing = false;
  private readonly probe = sharedRun(() => this.findFailure(), PROBE_KEPT_MS);

  constructor(settings: Partial<EgressSettings> = {}) {
    const { egressProxyUrl, egressNoProxy = [], egressProxyResolves, egressSourceAddresses = [] } = settings;
    this.proxy = egressProxyUrl ? proxyOf(new URL(egressProxyUrl)) : null;
    this.direct = new HostMatcher(egressNoProxy);
    this.proxyResolves = egressProxyResolves ?? false;
    this.sources = {
      ipv4: egressSourceAddresses.find((ip) => isIPv4(ip)) ?? null,
      ipv6: egressSourceAddresses.find((ip) => !isIPv4(ip)) ?? null,
    };
  }

  /** Neither a proxy nor a source address: connections are made as if this did not exist. */
  get isPlain(): boolean {
    return this.proxy === null && this.sources.ipv4 === null && this.sources.ipv6 === null;
  }

  /** @throws InvalidEnvironmentError when this machine does not have one of the source addresses. */
  async checkSources(): Promise<void> {
    for (const address of [this.sources.ipv4, this.sources.ipv6]) {
      if (address !== null && !(await listensOn(address)))
        throw new InvalidEnvironmentError([`EGRESS_SOURCE_ADDRESSES must be addresses of this machine: ${address}`]);
    }
  }

  /** For a host that the operator names. */
  connector(options: { timeoutMs: number; certificate?: ClientCertificate | null }): buildConnector.connector {
    const { timeoutMs, certificate } = options;
    // Explicitly, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    const tls = { rejectUnauthorized: true, ...certificate };
    if (this.isPlain) return buildConnector({ timeout: timeoutMs, ...tls });
    return (target, callback) => {
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(new errors.ConnectTimeoutError()), timeoutMs);
      const secure = buildConnector({ timeout: 0, signal: limit.signal, ...tls });
      this.upgraded(target, null, limit.signal, secure, (...[error, socket]) => {
        // It would close the connection, too.
        clearTimeout(timer);
        if (socket) callback(null, socket);
        else callback(limit.signal.aborted ? (limit.signal.reason as Error) : error, null);
      });
    };
  }

  /** Opens the connection of an undici client, with TLS where its address says so. */
  upgraded(
    options: buildConnector.Options,
    addresses: readonly string[] | null,
    signal: AbortSignal,
    secure: buildConnector.connector,
    callback: buildConnector.Callback,
  ): void {
    const isTls = options.protocol === 'https:';
    const target = { host: options.hostname, port: Number(options.port) || (isTls ? 443 : 80), addresses };
    this.open(target, signal).then(
      // A later error of a callback must not be taken for one of the connection.
      (socket) =>
        process.nextTick(() => (isTls ? secure({ ...options, httpSocket: socket }, callback) : callback(null, socket))),
      (error: Error) => process.nextTick(callback, error, null),
    );
  }

  /** Whether requests to a host go through the proxy. */
  usesProxy(host: string, addresses: readonly string[] = []): boolean {
    return this.proxy !== null && !this.direct.matches(host, addresses);
  }

  /**
   * What an error of a request means: the proxy may have caused what looks like a failure of the host behind it.
   * @returns the error, or a ProxyFailedError in its place.
   */
  async judge(url: string, error: unknown): Promise<unknown> {
    if (error instanceof ProxyFailedError || !this.usesProxy(new URL(url).hostname)) return error;
    const isAboutHost = error instanceof OutgoingRequestError && ['dns', 'refused_address'].includes(error.kind);
    const failure = isAboutHost ? null : await this.probe();
    return failure ? this.noted(new ProxyFailedError(failure)) : error;
  }

  private async open(target: Target, signal: AbortSignal): Promise<Socket> {
    const { host, port, addresses } = target;
    if (this.usesProxy(host, addresses ?? [])) return await this.tunnel(target, signal);
    return await connectTcp(addresses ?? (await addressesOf(host)), port, { sources: this.sources, signal });
  }

  /** The first address with which the proxy connects. */
  private async tunnel({ host, port, addresses }: Target, signal: AbortSignal): Promise<Socket> {
    const tunnelTo = (name: string, ends: AbortSignal): Promise<Socket> =>
      this.tunnelTo(`${isIP(name) === 6 ? `[${name}]` : name}:${port}`, ends);
    const isOfProxy = (error: unknown): boolean => error instanceof ProxyFailedError;
    try {
      return await firstToConnect(addresses ?? [host], signal, tunnelTo, isOfProxy);
    } catch (error) {
      throw error instanceof ProxyFailedError ? this.noted(error) : error;
    }
  }

  private async tunnelTo(authority: string, signal: AbortSignal): Promise<Socket> {
    const socket = await this.connectToProxy(signal);
    const { status, rest } = await this.ask(socket, { method: 'CONNECT', path: authority, signal });
    if (status === 200) {
      this.works();
      if (rest.length > 0) socket.unshift(rest);
      return socket;
    }
    socket.destroy();
    if (status === 407) throw new ProxyFailedError('credentials');
    if (FORBIDDING.has(status)) throw new OutgoingRequestError('refused_address', FORBIDDEN);
    throw new OutgoingRequestError('connect', NOT_CONNECTED, { cause: `the proxy answered ${status}` });
  }

  /** @throws ProxyFailedError, or the signal's reason */
  private async connectToProxy(signal: AbortSignal): Promise<Socket> {
    const { host, port, isTls } = this.proxy as Proxy;
    try {
      const socket = await connectTcp(await addressesOf(host), port, { sources: this.sources, signal });
      if (!isTls) return socket;
      const secure = connectTls({
        socket,
        host,
        ...(isIP(host) === 0 && { servername: host }),
        rejectUnauthorized: true,
      });
      return await new Promise((resolve, reject) => {
        const abort = (): void => void secure.destroy(signal.reason as Error);
        signal.addEventListener('abort', abort, { once: true });
        secure.once('error', reject).once('secureConnect', () => {
          signal.removeEventListener('abort', abort);
          secure.off('error', reject);
          resolve(secure);
        });
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new ProxyFailedError('unreachable', { cause: error });
    }
  }

  /** Sends one request to the proxy itself over its connection. */
  private async ask(
    socket: Socket,
    { method, path, signal }: { method: string; path: string; signal: AbortSignal },
  ): Promise<{ status: number; rest: Buffer }> {
    const { authorization } = this.proxy as Proxy;
    return await new Promise((resolve, reject) => {
      const headers = { host: path, ...(authorization !== null && { 'proxy-authorization': authorization }) };
      const createConnection = (): Socket => socket;
      const asked = request({
        method,
        path,
        setHost: false,
        headers,
        maxHeaderSize: MAX_HEADER_BYTES,
        createConnection,
      });
      // Not Node's own `signal`, which would close the connection later, too.
      const abort = (): void => void asked.destroy();
      signal.addEventListener('abort', abort);
      const end = (status: number, rest = Buffer.alloc(0)): void => {
        signal.removeEventListener('abort', abort);
        resolve({ status, rest });
      };
      asked.on('connect', ({ statusCode = 0 }, _socket, rest) => end(statusCode, rest));
      asked.on('response', ({ statusCode = 0 }) => end(statusCode));
      asked.on('error', (error) => {
        signal.removeEventListener('abort', abort);
        socket.destroy();
        const closed = new OutgoingRequestError('connect', NOT_CONNECTED, { cause: `the proxy: ${error.message}` });
        reject(signal.aborted ? (signal.reason as Error) : closed);
      });
      asked.end();
    });
  }

  /** What is wrong with the proxy, if it cannot be reached or says nothing at all; null when it answers anything. */
  private async findFailure(): Promise<ProxyFailure | null> {
    const signal = AbortSignal.timeout(PROBE_MS);
    try {
      const socket = await this.connectToProxy(signal);
      // A way to ask the proxy alone, which any answer, a refusal too, or the end of the connection satisfies.
      await this.ask(socket, { method: 'OPTIONS', path: '*', signal }).finally(() => socket.destroy());
      return null;
    } catch (error) {
      if (error instanceof ProxyFailedError) return error.failure;
      return signal.aborted ? 'silent' : null;
    }
  }

  /** Counts a failure, and logs the first: the proxy fails for every request. */
  private noted(error: ProxyFailedError): ProxyFailedError {
    const { failure } = error;
    this.failures.inc({ failure });
    if (!this.isFailing) this.logger.error({ failure, err: error }, 'egress proxy failed');
    this.isFailing = true;
    return error;
  }

  private works(): void {
    if (this.isFailing) this.logger.log('egress proxy works again');
    this.isFailing = false;
  }
}

const NOT_CONNECTED = 'the connection to the host failed';
const FORBIDDEN = 'the network of this service does not allow the host';

const addressesOf = async (host: string): Promise<string[]> =>
  isIP(host) === 0 ? (await lookup(host, { all: true })).map(({ address }) => address) : [host];

function proxyOf({ protocol, hostname, port, username, password }: URL): Proxy {
  const isTls = protocol === 'https:';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (isTls ? 443 : 80),
    isTls,
    authorization: username === '' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}
