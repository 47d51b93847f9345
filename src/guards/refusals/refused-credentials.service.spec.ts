import { Registry } from 'prom-client';
import type { MetricsMiddleware } from '../../platform/observability/metrics.middleware.js';
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
    refused = new RefusedCredentialsService(log as SecurityLogService, { registry } as MetricsMiddleware);
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
    expect(await registry.getSingleMetricAsString('credentials_refused_total')).toMatch(/\{kind="key_pair"\} 1/);
  });

  it('tells a bounded number of addresses apart', () => {
    for (let i = 0; i < 12_000; i++) refused.count(PAIR, `address ${i}`);
    refused.onApplicationShutdown();
    expect(recorded[0]?.[1]).toMatchObject({ key_pairs: 12_000, addresses: 10_000 });
  });
});
