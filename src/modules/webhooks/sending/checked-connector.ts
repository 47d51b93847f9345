import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { DeliveryAttemptError } from './delivery-attempt.js';
import { type AllowedNetworks, loopbackAddresses, mayConnect } from './address-rules.js';

export interface CheckedConnectorOptions {
  allowed: AllowedNetworks;
  resolve: (name: string) => Promise<string[]>;
  /** Gives up, also in the middle of a look-up or a TLS handshake. */
  signal: AbortSignal;
}

const FORBIDDEN = 'the host leads to a private or special address';
/** One address of several may be dead; Node's own 250 ms would also give up on a live one on another continent. */
const NEXT_ADDRESS_AFTER_MS = 1000;

/**
 * Connects only to addresses that have just been checked: those that the look-up gives are the ones Node connects to,
 * so a name that changes its mind gains nothing. TLS still asks for, and verifies, the name.
 */
export function checkedConnector({ allowed, resolve, signal }: CheckedConnectorOptions): buildConnector.connector {
  const connect = buildConnector({
    lookup: checkedLookup(allowed, resolve),
    signal,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    // The signal's clock is exact; undici's ticks twice a second.
    timeout: 0,
    maxCachedSessions: 0,
  });
  return (options, callback) => {
    // Node looks nothing up when the host is an address already.
    if (isIP(options.hostname) === 0 || mayConnect(options.hostname, allowed)) connect(options, callback);
    else process.nextTick(callback, new DeliveryAttemptError(FORBIDDEN), null);
  };
}

/** Answers with a list, which is what Node asks for with `autoSelectFamily`. */
function checkedLookup(allowed: AllowedNetworks, resolve: CheckedConnectorOptions['resolve']): LookupFunction {
  const addressesOf = async (name: string): Promise<LookupAddress[]> => {
    const ips = loopbackAddresses(name, allowed) ?? (await resolve(name));
    // Node 20 crashes on an empty list.
    if (ips.length === 0) throw new DeliveryAttemptError('the host name could not be resolved');
    // A bad address among good ones is no slip: that is what a rebinding attack looks like.
    if (!ips.every((ip) => mayConnect(ip, allowed))) throw new DeliveryAttemptError(FORBIDDEN);
    return ips.map((address) => ({ address, family: isIP(address) }));
  };
  return (name, _options, callback) => {
    addressesOf(name).then(
      (addresses) => process.nextTick(callback, null, addresses),
      (error: Error) => process.nextTick(callback, error, []),
    );
  };
}
