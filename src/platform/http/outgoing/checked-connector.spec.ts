import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { AllowedNetworks } from './address-rules.js';
import { Egress } from './egress.js';
import { checkedConnector, triedAddresses } from './checked-connector.js';

jest.mock('undici', () => ({ ...jest.requireActual<object>('undici'), buildConnector: jest.fn() }));

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);

describe('triedAddresses (D34)', () => {
  it('tries at most 8 addresses of a name, of both families', () => {
    const tried = triedAddresses([...numbered('192.0.2.', 100), ...numbered('2001:db8::', 100)]);
    expect(tried).toEqual([1, 2, 3, 4].flatMap((i) => [`192.0.2.${i}`, `2001:db8::${i}`]));
    expect(triedAddresses(numbered('192.0.2.', 9))).toEqual(numbered('192.0.2.', 8));
    expect(triedAddresses(['192.0.2.1', '2001:db8::1', '2001:db8::2'])).toEqual([
      '192.0.2.1',
      '2001:db8::1',
      '2001:db8::2',
    ]);
  });
});

const NAME_ERROR_MS = 40;

describe('checkedConnector', () => {
  const connect = jest.fn();
  const { signal } = new AbortController();
  const built = buildConnector as jest.Mock;
  let resolve: jest.Mock;

  beforeEach(() => {
    connect.mockReset();
    built.mockReset().mockReturnValue(connect);
    resolve = jest.fn(async () => ['93.184.216.34', '2606:2800:220:1::1']);
  });

  function connector(cidrs: string[] = []) {
    return checkedConnector({
      allowed: new AllowedNetworks(cidrs),
      resolve,
      nameErrorMs: NAME_ERROR_MS,
      signal,
      egress: new Egress(),
    });
  }

  /** What Node is given for a name. */
  async function lookup(name: string, cidrs: string[] = []): Promise<unknown[]> {
    connector(cidrs);
    const [{ lookup: look }] = built.mock.calls[0] as [{ lookup: LookupFunction }];
    return await new Promise((done) => look(name, {}, (...answer) => done(answer)));
  }

  it('tries the addresses of both families, a second each, verifies certificates and resumes no session', () => {
    connector();
    expect(built.mock.calls).toEqual([
      [
        {
          lookup: expect.any(Function),
          signal,
          autoSelectFamily: true,
          autoSelectFamilyAttemptTimeout: 1000,
          timeout: 0,
          maxCachedSessions: 0,
          rejectUnauthorized: true,
        },
      ],
    ]);
  });

  it('gives Node the checked addresses with their families', async () => {
    expect(await lookup('hooks.example.com')).toEqual([
      null,
      [
        { address: '93.184.216.34', family: 4 },
        { address: '2606:2800:220:1::1', family: 6 },
      ],
    ]);
    expect(resolve.mock.calls).toEqual([['hooks.example.com']]);
  });

  it.each([
    ['has no address', [], 'name not resolved'],
    ['has one forbidden address', ['93.184.216.34', '10.0.0.1'], 'private or special address'],
  ])('D39: refuses a name that %s, no sooner and in no other words than another', async (_, addresses, cause) => {
    const timer = jest.spyOn(globalThis, 'setTimeout');
    resolve.mockResolvedValue(addresses);
    const started = performance.now();
    const [error] = await lookup('hooks.example.com');
    const [[, waitMs]] = timer.mock.calls as unknown as [[unknown, number]];
    timer.mockRestore();
    expect(error).toMatchObject({ kind: 'dns', message: 'the host name has no public address', cause });
    // Timers of Node may fire a millisecond early.
    expect(performance.now() - started).toBeGreaterThan(NAME_ERROR_MS - 2);
    expect(waitMs).toBeLessThanOrEqual(NAME_ERROR_MS);
  });

  it('never resolves localhost', async () => {
    expect(await lookup('localhost', ['127.0.0.0/8'])).toEqual([null, [{ address: '127.0.0.1', family: 4 }]]);
    built.mockClear();
    expect(await lookup('a.localhost')).toEqual([expect.objectContaining({ kind: 'dns' }), []]);
    expect(resolve).not.toHaveBeenCalled();
  });

  it.each([
    ['10.0.0.1', [], false],
    ['10.0.0.1', ['10.0.0.0/8'], true],
    ['93.184.216.34', [], true],
    ['hooks.example.com', [], true],
  ])('connects to %s, with %j allowed: %s', async (hostname, cidrs, connects) => {
    const options = { hostname } as buildConnector.Options;
    const outcome = await new Promise<unknown>((done) => {
      connect.mockImplementation(() => done('connected'));
      connector(cidrs)(options, (...[error]) => done(error));
    });
    if (connects) expect(connect).toHaveBeenCalledWith(options, expect.any(Function));
    else expect(outcome).toMatchObject({ kind: 'refused_address' });
    expect(outcome === 'connected').toBe(connects);
  });
});
