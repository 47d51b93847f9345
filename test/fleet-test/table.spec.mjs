import { bouncerConfiguration, frontConfiguration } from './servers.mjs';
import { tableOf } from './table.mjs';

const PHASE = { name: 'api killed', from: 10_000, until: 20_000, lastedMs: 3000 };
const attempt = (at, ms, status) => ({ at, ms, status });
const rowsOf = (seen) =>
  tableOf({ phases: [PHASE], attempts: [], uploads: [], ...seen })
    .split('\n')
    .slice(2);

describe('tableOf', () => {
  it('counts what failed by status, and the time until the last request that clients noticed', () => {
    const attempts = [
      attempt(9000, 9000, 503),
      attempt(10_000, 100, 200),
      attempt(11_000, 500, 502),
      attempt(12_000, 700, 503),
      attempt(12_100, 100, 503),
      attempt(13_000, 4000, null),
      attempt(18_000, 100, 201),
      attempt(20_000, 100, 500),
    ];
    expect(rowsOf({ attempts })).toEqual([
      '| api killed (3) | 6 | 4: 1 × 502, 2 × 503, 1 × none | 4.0 s | 7.0 s | 0, – | – |',
    ]);
  });

  it('takes an answer for noticed that is served and late', () => {
    const attempts = [attempt(12_000, 2001, 200), attempt(16_000, 2000, 200)];
    expect(rowsOf({ attempts })).toEqual(['| api killed (3) | 2 | 0 | 2.0 s | 4.0 s | 0, – | – |']);
  });

  it('shows the longest upload and event, and one that was never told of', () => {
    const told = { at: 11_000, answeredAt: 12_500, toldAt: 20_500 };
    const silent = { at: 12_000, answeredAt: 12_100, toldAt: null };
    const unanswered = { at: 13_000, answeredAt: null, toldAt: null };
    expect(rowsOf({ uploads: [told] })[0]).toMatch(/\| 1, 1\.5 s \| 8\.0 s \|$/);
    expect(rowsOf({ uploads: [told, silent] })[0]).toMatch(/\| 2, 1\.5 s \| never \|$/);
    expect(rowsOf({ uploads: [told, unanswered] })[0]).toMatch(/\| 2, never \| never \|$/);
  });
});

it('gives HAProxy each process, its checks, and the end of sessions of one that fails them', () => {
  const text = frontConfiguration([
    { host: { name: 'api1' }, url: 'http://10.231.0.11:3001' },
    { host: { name: 'api2' }, url: 'http://10.231.0.12:3002' },
  ]);
  const servers = '  server api1 10.231.0.11:3001 check\n  server api2 10.231.0.12:3002 check\n';
  expect(text).toContain(`backend api\n  option httpchk GET /health/ready\n${servers}`);
  expect(text).toContain(`backend live\n  option httpchk GET /health/live\n${servers}`);
  expect(text).toContain('use_backend live if { nbsrv(api) eq 0 }');
  expect(text).toMatch(/default-server .* on-marked-down shutdown-sessions/);
});

it('gives PgBouncer the primary and limits to what answers nothing', () => {
  const text = bouncerConfiguration('10.231.0.20');
  expect(text).toContain('* = host=10.231.0.20 port=5432');
  for (const limit of ['server_connect_timeout', 'query_timeout', 'tcp_user_timeout']) expect(text).toContain(limit);
});
