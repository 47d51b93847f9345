import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Network = [Address, number];

/** Networks of IPv4 and IPv6 addresses. */
export class Networks {
  private readonly networks: readonly Network[];

  /** @param cidrs each of which `isCidr`. */
  constructor(cidrs: readonly string[]) {
    this.networks = cidrs.map((cidr) => ipaddr.parseCIDR(cidr));
  }

  /** False for a text that is no address. */
  includes(ip: string): boolean {
    if (isIP(ip) === 0) return false;
    // An IPv4-mapped address reaches the IPv4 host, so a rule for that host covers it.
    return [ipaddr.parse(ip), ipaddr.process(ip)].some((address) => isInside(address, this.networks));
  }

  /** Whether every address of a network lies in one of these. */
  covers(cidr: string): boolean {
    const [first, bits] = ipaddr.parseCIDR(cidr);
    return isInside(
      first,
      this.networks.filter(([, own]) => own <= bits),
    );
  }
}

export function isInside(address: Address, networks: readonly Network[]): boolean {
  return networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

/** Stricter than ipaddr.js, which reads `10.1/16` as 10.0.0.1/16 and would allow the wrong network. */
export function isCidr(text: string): boolean {
  return isIP(text.split('/')[0] ?? '') !== 0 && ipaddr.isValidCIDR(text);
}

export const MAX_NETWORKS = 20;

/** What is wrong with a list of networks that a client gives, in words that follow the field's name; null if nothing. */
export function networksProblem(value: unknown): string | null {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_NETWORKS)
    return `must be a list of 1 to ${MAX_NETWORKS} networks, such as 203.0.113.0/24`;
  const problem = value.map(networkProblem).find((found) => found !== null);
  if (problem !== undefined) return problem;
  return new Set(value).size === value.length ? null : 'must not name a network twice';
}

function networkProblem(value: unknown): string | null {
  if (typeof value !== 'string' || !isCidr(value) || value.includes('%'))
    return 'must be networks, such as 203.0.113.0/24, 203.0.113.7/32 or 2001:db8::/32';
  const [address, bits] = ipaddr.parseCIDR(value);
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress())
    return 'must have IPv4 networks in the form of IPv4, such as 203.0.113.0/24';
  const first = (address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(value);
  // A /8 in place of a /32 would open the key to millions of hosts.
  return first.toString() === address.toString()
    ? null
    : `must have the first address of each network: ${first.toString()}/${bits}`;
}
