import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP, isIPv4, isIPv6, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AllowedNetworks, loopbackAddresses, mayConnect } from './address-rules.js';
import { NEXT_ADDRESS_AFTER_MS } from './connect-tcp.js';
import type { ClientCertificate, Egress } from './egress.js';
import { OutgoingRequestError } from './outgoing-error.js';

export interface CheckedConnectorOptions {
  allowed: AllowedNetworks;
  resolve: (name: string) => Promise<string[]>;
  /** A name without a usable address fails after a multiple of this time. */
  nameErrorMs: number;
  /** Cancels at any time, also during the DNS query or the TLS handshake. */
  signal: AbortSignal;
  egress: Egress;
  /** Shown to a host that asks for one. */
  certificate?: ClientCertificate | null;
}

type AddressRules = Pick<CheckedConnectorOptions, 'allowed' | 'resolve' | 'nameErrorMs'>;

const FORBIDDEN = 'the host leads to a private or special address';
/** The same for a name that is unknown and for one of the operator's network, so that nobody learns its names (D39). */
const UNUSABLE = 'the host name has no public address';
/** Addresses of one name that are tried (D34). */
const MAX_ADDRESSES = 8;

/**
 * Connects only to checked addresses. Node connects to those that the checked lookup returns, so DNS rebinding has no
 * effect. TLS still verifies the host name.
 */
export function checkedConnector(options: CheckedConnectorOptions): buildConnector.connector {
  const { signal, egress, certificate, ...rules } = options;
  const tls = {
    signal,
    // The signal is exact; undici's timers have steps of half a second.
    timeout: 0,
    maxCachedSessions: 0,
    // Explicitly, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
    rejectUnauthorized: true,
    ...certificate,
  };
  const connect = egress.isPlain ? buildConnector({ ...tls, ...lookupOptions(rules) }) : egressConnector(options, tls);
  return (target, callback) => {
    // Node does not call `lookup` for an IP address.
    if (isIP(target.hostname) === 0 || mayConnect(target.hostname, rules.allowed)) connect(target, callback);
    else process.nextTick(callback, new OutgoingRequestError('refused_address', FORBIDDEN), null);
  };
}

const lookupOptions = (rules: AddressRules) => ({
  lookup: checkedLookup(rules),
  autoSelectFamily: true,
  autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
});

/** Resolves and checks here, and gives the proxy an address, unless it is to resolve the name itself (0048). */
function egressConnector(
  { egress, signal, ...rules }: CheckedConnectorOptions,
  tls: buildConnector.BuildOptions,
): buildConnector.connector {
  const secure = buildConnector(tls);
  const addressesOf = async (name: string): Promise<string[] | null> => {
    if (isIP(name) !== 0) return [name];
    const isLeftToProxy =
      egress.proxyResolves && egress.usesProxy(name) && loopbackAddresses(name, rules.allowed) === null;
    return isLeftToProxy ? null : await checkedAddresses(name, rules);
  };
  return (target, callback) => {
    addressesOf(target.hostname).then(
      (addresses) => egress.upgraded(target, addresses, signal, secure, callback),
      (error: Error) => process.nextTick(callback, error, null),
    );
  };
}

/** The first addresses of both families in turn, so that a name with many cannot keep a connection busy. */
export function triedAddresses(ips: readonly string[]): string[] {
  const [v4, v6] = [ips.filter(isIPv4), ips.filter(isIPv6)];
  const count = Math.max(v4.length, v6.length);
  const inTurn = Array.from({ length: count }, (_, i) => [v4[i] ?? [], v6[i] ?? []].flat());
  return inTurn.flat().slice(0, MAX_ADDRESSES);
}

/** Returns a list, as Node expects with `autoSelectFamily`. */
function checkedLookup(rules: AddressRules): LookupFunction {
  return (name, _options, callback) => {
    checkedAddresses(name, rules).then(
      (ips) =>
        process.nextTick(
          callback,
          null,
          ips.map((address) => ({ address, family: isIP(address) })),
        ),
      (error: Error) => process.nextTick(callback, error, []),
    );
  };
}

async function checkedAddresses(name: string, { allowed, resolve, nameErrorMs }: AddressRules): Promise<string[]> {
  const startedAt = performance.now();
  try {
    const ips = loopbackAddresses(name, allowed) ?? (await resolve(name));
    // Node 20 crashes on an empty list.
    if (ips.length === 0) throw new OutgoingRequestError('dns', UNUSABLE, { cause: 'name not resolved' });
    // One forbidden address refuses all: mixed answers are typical of DNS rebinding.
    if (!ips.every((ip) => mayConnect(ip, allowed))) {
      throw new OutgoingRequestError('dns', UNUSABLE, { cause: 'private or special address' });
    }
    return triedAddresses(ips);
  } catch (error) {
    // A name of the operator's network is found sooner than an unknown one.
    const restMs = nameErrorMs - ((performance.now() - startedAt) % nameErrorMs);
    await new Promise((done) => setTimeout(done, restMs));
    throw error;
  }
}

/** The second try waits longer. With one name server both take 4 s at most, which leaves time to connect. */
const FIRST_TRY_MS = 1000;
const TRIES = 2;

interface Sources {
  hostsFile?: string;
  /** Name servers as `address:port`; defaults to the system's. */
  servers?: readonly string[];
}

/**
 * Every address of a host name: the hosts file first, then DNS, queried by Node itself. The system's
 * resolver (`dns.lookup`) runs on at most two threads of the process, so that a few names whose servers never answer
 * would block the deliveries of every account.
 * @returns an empty list when the name is unknown or its servers do not answer.
 */
export async function resolveHost(
  name: string,
  { hostsFile = '/etc/hosts', servers }: Sources = {},
): Promise<string[]> {
  const listed = await hostsFileAddresses(name, hostsFile);
  if (listed.length > 0) return listed;
  const resolver = new Resolver({ timeout: FIRST_TRY_MS, tries: TRIES });
  if (servers) resolver.setServers(servers);
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

async function hostsFileAddresses(name: string, file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').toLowerCase().trim().split(/\s+/);
    return isIP(address) !== 0 && names.includes(name) ? [address] : [];
  });
}
