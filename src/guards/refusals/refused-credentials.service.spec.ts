import { Registry } from 'prom-client';
import type { SecurityLogService } from '../../platform/observability/security-log.service.js';
import { RefusedCredentialsService } from './refused-credentials.service.js';

const PAIR = { 'x-service-api-key': 'vnk_wrong', 'x-service-api-secret': 'vns_wrong' };
const TOKEN = { authorization: 'Bearer wrong' };

describe('RefusedCredentialsService', () => {
  let recorded: [string, object][];
  let registry: Registry;
  let refused: RefusedCredentialsService;

  beforeEach(() => {
    jest.useFakeTimers();
    recorded = [];
    registry = new Registry();
    const log = { record: (event: string, fields: object) => void recorded.push([event, fields]) };
    refused = new RefusedCredentialsService(log as SecurityLogService, registry);
  });

  afterEach(() => jest.useRealTimers());

  it('logs the counts of a minute in one line, with the addresses that were refused most', () => {
    for (let i = 0; i < 1000; i++) refused.count(PAIR, `10.0.0.${i % 8 === 0 ? 1 : i % 200}`);
    for (let i = 0; i < 7; i++) refused.count(TOKEN, '10.0.1.1');
    expect(recorded).toEqual([]);
    jest.advanceTimersByTime(60_000);
    expect(recorded).toEqual([
      ['credentials refused', expect.objectContaining({ key_pairs: 1000, access_tokens: 7, most: expect.any(Array) })],
    ]);
    const [[, line]] = recorded as [[string, { most: object[] }]];
    expect(line.most).toHaveLength(5);
    expect(line.most[0]).toEqual({ address: '10.0.0.1', count: 130 });
    expect(JSON.stringify(recorded)).not.toContain('wrong');
  });

  it('names the addresses that were refused most, the most refused first, whichever came first', () => {
    for (const [address, count] of Object.entries({ a: 1, b: 3, c: 6, d: 2, e: 5, f: 4 })) {
      for (let i = 0; i < count; i++) refused.count(PAIR, address);
    }
    jest.advanceTimersByTime(60_000);
    expect(recorded[0]?.[1]).toMatchObject({
      addresses: 6,
      most: Object.entries({ c: 6, e: 5, f: 4, b: 3, d: 2 }).map(([address, count]) => ({ address, count })),
    });
  });

  it('counts half a key pair as one, and an address that is not known', () => {
    refused.count({ 'x-service-api-key': 'vnk_wrong' }, undefined);
    refused.onApplicationShutdown();
    const most = [{ address: 'unknown', count: 1 }];
    expect(recorded[0]?.[1]).toEqual({ key_pairs: 1, access_tokens: 0, addresses: 1, most });
    // What was logged at the end is not logged a second time.
    jest.advanceTimersByTime(30_000);
    refused.count(PAIR, 'a');
    jest.advanceTimersByTime(59_999);
    expect(recorded).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(recorded).toHaveLength(2);
  });

  it('logs each minute from the first refusal on, and keeps no process alive', () => {
    refused.count(PAIR, 'a');
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(59_999);
    refused.count(PAIR, 'a');
    expect(recorded).toHaveLength(0);
    jest.advanceTimersByTime(1);
    expect(recorded).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('begins anew, and logs nothing in a minute without any', () => {
    refused.count(PAIR, '10.0.0.1');
    jest.advanceTimersByTime(180_000);
    refused.count(TOKEN, '10.0.0.2');
    refused.onApplicationShutdown();
    refused.onApplicationShutdown();
    expect(recorded.map(([, fields]) => fields)).toEqual([
      { key_pairs: 1, access_tokens: 0, addresses: 1, most: [{ address: '10.0.0.1', count: 1 }] },
      { key_pairs: 0, access_tokens: 1, addresses: 1, most: [{ address: '10.0.0.2', count: 1 }] },
    ]);
  });

  it('does not count requests without credentials, nor other schemes', async () => {
    refused.count({}, '10.0.0.1');
    refused.count({ authorization: 'Basic dXNlcjpwYXNz' }, '10.0.0.1');
    jest.advanceTimersByTime(60_000);
    expect(recorded).toEqual([]);
    refused.count(PAIR, undefined);
    refused.count(TOKEN, undefined);
    refused.count(TOKEN, undefined);
    const metric = await registry.getSingleMetricAsString('credentials_refused_total');
    expect(metric).toMatch(/\{kind="key_pair"\} 1/);
    expect(metric).toMatch(/\{kind="access_token"\} 2/);
  });

  it('tells a bounded number of addresses apart', () => {
    for (let i = 0; i < 12_000; i++) refused.count(PAIR, `address ${i}`);
    for (let i = 0; i < 2; i++) refused.count(PAIR, 'address 0');
    refused.onApplicationShutdown();
    expect(recorded[0]?.[1]).toMatchObject({
      key_pairs: 12_002,
      addresses: 10_000,
      most: [{ address: 'address 0', count: 3 }, {}, {}, {}, {}],
    });
  });
});
