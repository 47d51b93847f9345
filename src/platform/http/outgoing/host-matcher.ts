import { isIP } from 'node:net';
import { isCidr, Networks } from '../networks.js';

const NAME = /^\.?[a-z0-9](?:[a-z0-9_.-]{0,252}[a-z0-9])?$/;

/** Whether a text is an item of EGRESS_NO_PROXY: a host, an address, `.domain` for all hosts in it, or a network. */
export const isHostPattern = (text: string): boolean =>
  isCidr(text) || isIP(text) !== 0 || NAME.test(text.toLowerCase());

/** Hosts by name, domain or network. */
export class HostMatcher {
  private readonly names: ReadonlySet<string>;
  private readonly domains: readonly string[];
  private readonly networks: Networks;

  /** @param patterns each of which `isHostPattern`. */
  constructor(patterns: readonly string[]) {
    const items = patterns.map((item) => item.toLowerCase());
    const names = items.filter((item) => !isCidr(item));
    this.networks = new Networks(items.filter(isCidr));
    this.domains = names.filter((item) => item.startsWith('.'));
    this.names = new Set(names.filter((item) => !item.startsWith('.')));
  }

  /** @param addresses of the host, if they are known: it matches when a network has all of them */
  matches(host: string, addresses: readonly string[] = []): boolean {
    const name = host.toLowerCase().replace(/^\[|\]$/g, '');
    if (this.names.has(name) || this.domains.some((domain) => name.endsWith(domain))) return true;
    const ips = isIP(name) === 0 ? addresses : [name];
    return ips.length > 0 && ips.every((ip) => this.networks.includes(ip) || this.names.has(ip));
  }
}
