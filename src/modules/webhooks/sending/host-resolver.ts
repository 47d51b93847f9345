import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

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
