/**
 * Addresses that no webhook may point to: everything that IANA's special-purpose registries (RFC 6890) do not mark as
 * globally reachable, and addresses of cloud platforms' own services that look public.
 */
export const SPECIAL_IPV4_RANGES = [
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
export const GLOBAL_IPV6_RANGE = '2000::/3';

/** What is special inside that range. */
export const SPECIAL_IPV6_RANGES = [
  '2001::/23', // protocol assignments (RFC 2928), with Teredo (RFC 4380), benchmarks (RFC 5180), ORCHID (RFC 7343)
  '2001:db8::/32', // documentation (RFC 3849)
  '2002::/16', // 6to4 (RFC 3056): carries an IPv4 address
  '2620:4f:8000::/48', // AS112 (RFC 7534)
  '3fff::/20', // documentation (RFC 9637)
];
