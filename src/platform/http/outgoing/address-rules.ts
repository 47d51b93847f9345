import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isCidr, isInside, type Network, Networks } from '../networks.js';

export const MAX_URL_CHARACTERS = 2048;
/** The URL parser drops or rewrites these silently. */
const UNSAFE_CHARACTERS = /[\s\p{Cc}\p{Cs}\\]/u;
const ABSOLUTE_HTTP = /^https?:\/\/(?<authority>[^/?#]+)/i;

const MAX_NAME_LENGTH = 253;
/** A host name's label (RFC 1123 §2.1), in lower case as the URL parser leaves it. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PRIVATE_NAME = /\.(?:local|internal|localhost)$/;

const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

const FIRST_FREE_PORT = 1024;
const WEB_PORTS = new Set([80, 443]);
/** NFS, MySQL, RDP, PostgreSQL, VNC, Redis, Elasticsearch, memcached, MongoDB: a POST could do harm there. */
const SERVICE_PORTS = new Set([2049, 3306, 3389, 5432, 5900, 6379, 9200, 11_211, 27_017]);

/** The networks of `WEBHOOK_ALLOWED_CIDRS`, which the operator allows even if they are private. */
export class AllowedNetworks extends Networks {
  /** @throws Error that names the variable when an item is not a CIDR. */
  constructor(cidrs: readonly string[]) {
    const broken = cidrs.find((cidr) => !isCidr(cidr));
    if (broken !== undefined) throw new Error(`WEBHOOK_ALLOWED_CIDRS: ${broken} is not a CIDR such as 10.0.0.0/8`);
    super(cidrs);
  }
}

/**
 * Checks the URL of a webhook or a link without DNS (D29). The connector checks the resolved addresses at every connection.
 * @returns null, or the broken rule as a text that follows the field's name.
 */
export function checkOutgoingUrl(url: string, allowed: AllowedNetworks, { httpsOnly = false } = {}): string | null {
  const malformed = malformedUrl(url) ?? (URL.canParse(url) ? null : 'must be an absolute http or https URL');
  return malformed ?? brokenTarget(new URL(url), allowed, httpsOnly);
}

/** Whether an address is not on the public internet. Any other text counts as forbidden. */
export function isForbiddenAddress(ip: string): boolean {
  if (isIP(ip) === 0) return true;
  const address = ipaddr.parse(ip);
  if (address.kind() === 'ipv4') return isInside(address, FORBIDDEN_IPV4);
  return !isInside(address, GLOBAL_IPV6) || isInside(address, FORBIDDEN_IPV6);
}

/** Whether a request may be sent to an address: a public one, or one that the operator allows. */
export function mayConnect(ip: string, allowed: AllowedNetworks): boolean {
  return allowed.includes(ip) || !isForbiddenAddress(ip);
}

/**
 * The allowed loopback addresses of `localhost` and its subdomains, which are never resolved (RFC 6761 §6.3). Null for
 * any other name.
 */
export function loopbackAddresses(name: string, allowed: AllowedNetworks): string[] | null {
  if (name !== 'localhost' && !name.endsWith('.localhost')) return null;
  return LOOPBACK_ADDRESSES.filter((ip) => allowed.includes(ip));
}

/** What `malformedUrl` accepts, for the description of the API. */
export const OUTGOING_URL_PATTERN = String.raw`^[Hh][Tt][Tt][Pp][Ss]?://[^\s\\/?#@\u0000-\u001f\u007f-\u009f\ud800-\udfff]+([/?][^\s\\#\u0000-\u001f\u007f-\u009f\ud800-\udfff]*)?$`;

/** Checks the text as it was sent, because the URL parser accepts most of what is refused here. */
export function malformedUrl(url: string): string | null {
  if (Array.from(url).length > MAX_URL_CHARACTERS) return `must be at most ${MAX_URL_CHARACTERS} characters long`;
  if (UNSAFE_CHARACTERS.test(url)) return 'must not contain white space, control characters or backslashes';
  const authority = ABSOLUTE_HTTP.exec(url)?.groups?.['authority'];
  if (authority === undefined) return 'must be an absolute http or https URL';
  if (authority.includes('@')) return 'must not contain credentials';
  if (url.includes('#')) return 'must not have a fragment';
  return null;
}

/** Checks the parsed URL, in which every spelling of an address is normalised. */
function brokenTarget(url: URL, allowed: AllowedNetworks, httpsOnly: boolean): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) {
    if (allowed.includes(host)) return null;
    return isForbiddenAddress(host) ? 'must not point to a private or special address' : brokenScheme(url, httpsOnly);
  }
  const loopback = loopbackAddresses(host, allowed);
  return loopback !== null && loopback.length > 0 ? null : (brokenName(host) ?? brokenScheme(url, httpsOnly));
}

function brokenName(name: string): string | null {
  if (name.endsWith('.')) return 'must not have a dot at the end of the host name';
  const labels = name.split('.');
  if (name.length > MAX_NAME_LENGTH || !labels.every((label) => LABEL.test(label)))
    return 'must have a valid host name';
  if (labels.length === 1 || PRIVATE_NAME.test(name))
    return 'must not point to a private name; give a public host name';
  return null;
}

/** @param httpsOnly `WEBHOOK_HTTPS_ONLY` (D37). */
function brokenScheme(url: URL, httpsOnly: boolean): string | null {
  if (httpsOnly && url.protocol === 'http:') return 'must be an https URL: this service sends nothing over http';
  return brokenPort(url);
}

function brokenPort(url: URL): string | null {
  if (url.port === '') return null;
  const port = Number(url.port);
  const open = WEB_PORTS.has(port) || (port >= FIRST_FREE_PORT && !SERVICE_PORTS.has(port));
  return open ? null : `must not use port ${port}`;
}

/**
 * Addresses that no webhook may point to: everything that IANA's special-purpose registries (RFC 6890) do not mark as
 * globally reachable, and addresses of cloud platforms' own services that look public.
 */
const SPECIAL_IPV4_RANGES = [
  '0.0.0.0/8', // "this network", and on Linux this host (RFC 791)
  '10.0.0.0/8', // private (RFC 1918)
  '100.64.0.0/10', // shared by carriers' NAT (RFC 6598)
  '127.0.0.0/8', // loopback (RFC 1122)
  '168.63.129.16/32', // Azure's host agent, reachable from inside every virtual machine
  '169.254.0.0/16', // link-local (RFC 3927), where most clouds serve their metadata
  '172.16.0.0/12', // private (RFC 1918)
  '192.0.0.0/24', // protocol assignments (RFC 6890); Oracle's metadata at 192.0.0.192
  '192.0.2.0/24', // documentation (RFC 5737)
  '192.31.196.0/24', // AS112 (RFC 7535)
  '192.52.193.0/24', // AMT relays (RFC 7450)
  '192.88.99.0/24', // 6to4 relays, deprecated (RFC 7526)
  '192.168.0.0/16', // private (RFC 1918)
  '192.175.48.0/24', // AS112 (RFC 7534)
  '198.18.0.0/15', // benchmarks (RFC 2544)
  '198.51.100.0/24', // documentation (RFC 5737)
  '203.0.113.0/24', // documentation (RFC 5737)
  '224.0.0.0/4', // multicast (RFC 5771)
  '240.0.0.0/4', // reserved (RFC 1112), with broadcast (RFC 919)
];

/**
 * All of IPv6 that is handed out to hosts (RFC 4291 §2.4, IANA's address space registry). What lies outside is refused
 * without being named: unspecified `::`, loopback `::1`, IPv4-compatible `::/96` and IPv4-mapped `::ffff:0:0/96`
 * (RFC 4291), NAT64 `64:ff9b::/96` and `64:ff9b:1::/48` (RFC 6052, 8215), discard-only `100::/64` (RFC 6666), segment
 * routing `5f00::/16` (RFC 9602), unique local `fc00::/7` (RFC 4193), link-local `fe80::/10`, site-local `fec0::/10`
 * (RFC 3879), multicast `ff00::/8`.
 */
const GLOBAL_IPV6_RANGE = '2000::/3';

/** What is special inside that range. */
const SPECIAL_IPV6_RANGES = [
  '2001::/23', // protocol assignments (RFC 2928), with Teredo (RFC 4380), benchmarks (RFC 5180), ORCHID (RFC 7343)
  '2001:db8::/32', // documentation (RFC 3849)
  '2002::/16', // 6to4 (RFC 3056): carries an IPv4 address
  '2620:4f:8000::/48', // AS112 (RFC 7534)
  '3fff::/20', // documentation (RFC 9637)
];

const FORBIDDEN_IPV4: readonly Network[] = SPECIAL_IPV4_RANGES.map((cidr) => ipaddr.parseCIDR(cidr));
const FORBIDDEN_IPV6: readonly Network[] = SPECIAL_IPV6_RANGES.map((cidr) => ipaddr.parseCIDR(cidr));
const GLOBAL_IPV6: readonly Network[] = [ipaddr.parseCIDR(GLOBAL_IPV6_RANGE)];
