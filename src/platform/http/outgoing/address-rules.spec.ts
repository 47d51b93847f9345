import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import {
  AllowedNetworks,
  checkOutgoingUrl,
  isForbiddenAddress,
  loopbackAddresses,
  malformedUrl,
  mayConnect,
  OUTGOING_URL_PATTERN,
} from './address-rules.js';

const none = new AllowedNetworks([]);
const loopback = new AllowedNetworks(['127.0.0.0/8', '::1/128']);
const office = new AllowedNetworks(['10.0.0.0/8', 'fd00::/8']);

/** First and last address of every range that is not public, written out: nothing of it comes from the code. */
const SPECIAL_RANGES = `
  0.0.0.0          0.255.255.255
  10.0.0.0         10.255.255.255
  100.64.0.0       100.127.255.255
  127.0.0.0        127.255.255.255
  168.63.129.16    168.63.129.16
  169.254.0.0      169.254.255.255
  172.16.0.0       172.31.255.255
  192.0.0.0        192.0.0.255
  192.0.2.0        192.0.2.255
  192.31.196.0     192.31.196.255
  192.52.193.0     192.52.193.255
  192.88.99.0      192.88.99.255
  192.168.0.0      192.168.255.255
  192.175.48.0     192.175.48.255
  198.18.0.0       198.19.255.255
  198.51.100.0     198.51.100.255
  203.0.113.0      203.0.113.255
  224.0.0.0        255.255.255.255
  ::               1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
  2001::           2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
  2001:db8::       2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
  2002::           2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff
  2620:4f:8000::   2620:4f:8000:ffff:ffff:ffff:ffff:ffff
  3fff::           3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
  4000::           ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
`;

/** Well-known addresses inside those ranges, some in a form of their own. */
const FORBIDDEN = `
  127.0.0.1 169.254.169.254 192.0.0.192 240.0.0.0 239.255.255.255 ::1 ::7f00:1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1
  64:ff9b::808:808 64:ff9b:1::1 100::1 2001::1 2002:808:808::1 5f00::1 fc00::1 fdff::1 fe80::1 fe80::1%eth0 febf::1
  fec0::1 ff02::1 localhost 1.2.3
`;

const PUBLIC = '1.1.1.1 8.8.8.8 2001:4860:4860::8888 2606:4700::1111 2003::1';

const addresses = (list: string) => list.trim().split(/\s+/);

// The long list of hostile URLs is in test/components/webhooks/webhook-addresses.e2e.ts.
describe('checkOutgoingUrl', () => {
  it.each([
    ['https://hooks.example.com/ x', 'must not contain white space, control characters or backslashes'],
    ['https://hooks.example.com/\u0085', 'must not contain white space, control characters or backslashes'],
    ['https://hooks.example.com/\ud800', 'must not contain white space, control characters or backslashes'],
    ['ftp://hooks.example.com/', 'must be an absolute http or https URL'],
    ['https:///hooks.example.com/', 'must be an absolute http or https URL'],
    ['https://hooks.example.com:65536/', 'must be an absolute http or https URL'],
    ['https://@hooks.example.com/', 'must not contain credentials'],
    ['https://hooks.example.com/#', 'must not have a fragment'],
    ['https://10.0.0.1/', 'must not point to a private or special address'],
    ['https://under_score.example.com/', 'must have a valid host name'],
    [`https://${'a'.repeat(64)}.example.com/`, 'must have a valid host name'],
    [`https://${'a.'.repeat(125)}example.com/`, 'must have a valid host name'],
    ['https://hooks.example.com./', 'must not have a dot at the end of the host name'],
    ['https://redis/', 'must not point to a private name; give a public host name'],
    ['https://hooks.example.com:6379/', 'must not use port 6379'],
  ])('refuses %j: %s', (url, reason) => {
    expect(checkOutgoingUrl(url, none)).toBe(reason);
  });

  it('counts characters, not bytes, up to 2048', () => {
    const url = (length: number) => 'https://hooks.example.com/'.padEnd(length, 'é');
    expect(checkOutgoingUrl(url(2048), none)).toBeNull();
    expect(checkOutgoingUrl(url(2049), none)).toBe('must be at most 2048 characters long');
    expect(checkOutgoingUrl(`https://hooks.example.com/${'😀'.repeat(2022)}`, none)).toBeNull();
  });

  it('accepts an @ or a port-like text after the host', () => {
    expect(checkOutgoingUrl('https://hooks.example.com/@user:22?to=a@b.example', none)).toBeNull();
  });

  it.each([
    'http://127.0.0.1:22/',
    'http://localhost:5432',
    'http://LocalHost:5432/',
    'http://app.localhost:3000/',
    'http://[::1]:6379/',
    'http://0x7f000001:25/',
    'http://0177.0.0.1:25/',
    'http://127.1:25/',
    'http://127.0.0.1.:25/',
    'http://[::ffff:127.0.0.1]:25/',
  ])('skips the rules for ports and names inside an allowed network: %s', (url) => {
    expect(checkOutgoingUrl(url, loopback)).toBeNull();
    expect(checkOutgoingUrl(url, none)).not.toBeNull();
    expect(checkOutgoingUrl(url, office)).not.toBeNull();
  });

  it.each(['http://10.0.0.1/', 'http://redis/', 'http://printer.local/', 'https://hooks.example.com:22/'])(
    'applies every rule outside the allowed networks: %s',
    (url) => {
      expect(checkOutgoingUrl(url, loopback)).not.toBeNull();
    },
  );

  it.each(['http://user@127.0.0.1/', 'ftp://127.0.0.1/', 'http://127.0.0.1/#x', 'http:\\\\127.0.0.1/'])(
    'applies the rules for the form of the URL everywhere: %s',
    (url) => {
      expect(checkOutgoingUrl(url, loopback)).not.toBeNull();
    },
  );

  it.each(['http://hooks.example.com/', 'HTTP://hooks.example.com:8080/', 'http://93.184.216.34/'])(
    'with WEBHOOK_HTTPS_ONLY refuses %s, and takes it over https (D37)',
    (url) => {
      expect(checkOutgoingUrl(url, loopback)).toBeNull();
      expect(checkOutgoingUrl(url, loopback, { httpsOnly: true })).toMatch(/^must be an https URL/);
      expect(checkOutgoingUrl(url.replace(/^http/i, 'https'), loopback, { httpsOnly: true })).toBeNull();
    },
  );

  it.each(['http://127.0.0.1:25/', 'http://localhost/'])('with WEBHOOK_HTTPS_ONLY takes %s if allowed', (url) => {
    expect(checkOutgoingUrl(url, loopback, { httpsOnly: true })).toBeNull();
  });

  it('accepts localhost when one of its addresses is allowed', () => {
    expect(checkOutgoingUrl('http://localhost:22/', new AllowedNetworks(['::1/128']))).toBeNull();
    expect(checkOutgoingUrl('http://localhost:22/', new AllowedNetworks(['127.0.0.1/32']))).toBeNull();
    expect(checkOutgoingUrl('http://localhost:22/', new AllowedNetworks(['127.0.0.2/32']))).not.toBeNull();
  });
});

/** The address after or before an address; null outside the address space. */
function neighbour(ip: string, step: 1 | -1): string | null {
  const bytes = ipaddr.parse(ip).toByteArray();
  let at = bytes.length - 1;
  for (; at >= 0 && bytes[at] === (step === 1 ? 255 : 0); at--) bytes[at] = step === 1 ? 0 : 255;
  if (at < 0) return null;
  bytes[at] = (bytes[at] ?? 0) + step;
  return ipaddr.fromByteArray(bytes).toString();
}

describe('isForbiddenAddress', () => {
  const ranges = SPECIAL_RANGES.trim()
    .split('\n')
    .map((line) => addresses(line) as [first: string, last: string]);

  it.each(ranges)(
    'forbids %s to %s, both included, and neither the address before nor the one after',
    (first, last) => {
      expect([first, last].filter((ip) => !isForbiddenAddress(ip))).toEqual([]);
      const outside = [neighbour(first, -1), neighbour(last, 1)].flatMap((ip) => ip ?? []);
      expect(outside.length).toBeGreaterThan(0);
      expect(outside.filter((ip) => isForbiddenAddress(ip))).toEqual([]);
    },
  );

  it.each([...addresses(FORBIDDEN), '', 'no address', '127.1', '2130706433'])('forbids %s', (ip) => {
    expect(isForbiddenAddress(ip)).toBe(true);
  });

  it.each(addresses(PUBLIC))('allows %s', (ip) => {
    expect(isForbiddenAddress(ip)).toBe(false);
  });
});

describe('allowed networks', () => {
  it('cover what lies inside them, also IPv4 written as IPv6, and nothing else', () => {
    const allowed = (ip: string) => mayConnect(ip, office);
    expect(['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '8.8.8.8'].map(allowed)).toEqual([true, true, true, true]);
    expect(['127.0.0.1', '::ffff:127.0.0.1', 'fc00::1', ''].map(allowed)).toEqual([false, false, false, false]);
  });

  it('apply an IPv6 network to IPv4-mapped addresses only when it names them', () => {
    expect(new AllowedNetworks(['::ffff:10.0.0.0/104']).includes('::ffff:10.9.9.9')).toBe(true);
    expect(new AllowedNetworks(['::/0']).includes('10.9.9.9')).toBe(false);
    expect(new AllowedNetworks(['0.0.0.0/0']).includes('::1')).toBe(false);
  });

  it.each(['10.0.0.0/33', '10.1/16', '::1/129', 'fd00::/', '10.0.0.1'])(
    'refuse %s with an error that names the variable',
    (cidr) => {
      expect(() => new AllowedNetworks([cidr])).toThrow(`WEBHOOK_ALLOWED_CIDRS: ${cidr}`);
    },
  );

  it('decide the addresses of localhost', () => {
    expect(loopbackAddresses('localhost', loopback)).toEqual(['127.0.0.1', '::1']);
    expect(loopbackAddresses('app.localhost', new AllowedNetworks(['127.0.0.0/8']))).toEqual(['127.0.0.1']);
    expect(loopbackAddresses('localhost', office)).toEqual([]);
    expect(loopbackAddresses('localhost.example.com', loopback)).toBeNull();
  });
});

describe('OUTGOING_URL_PATTERN', () => {
  it('matches exactly what malformedUrl accepts', () => {
    const pattern = new RegExp(OUTGOING_URL_PATTERN, 'u');
    const part = fc.constantFrom(
      'http://',
      'HTTPS://',
      'ftp://',
      'a',
      '@',
      '#',
      '/',
      '?',
      '\\',
      ' ',
      '\u0085',
      '\ud800',
      '[',
      'é',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const url = parts.join('');
        expect({ url, matches: pattern.test(url) }).toEqual({ url, matches: malformedUrl(url) === null });
      }),
    );
  });
});
