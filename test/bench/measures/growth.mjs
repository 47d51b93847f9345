import { alternate, load, ratio, median } from '../lib/load.mjs';
import { insertRecordings } from '../lib/recordings.mjs';

const DAYS = 365;
const SMALL = 1000;

/** What a request costs an account with a year of many recordings, beside one with a thousand. */
export async function measureGrowth(stage, { pairs, seconds, recordings }) {
  const small = await stage.account();
  const large = await stage.account();
  const oneDay = await stage.account();
  await insertRecordings(stage, small.id, SMALL, DAYS);
  await insertRecordings(stage, large.id, recordings, DAYS);
  await insertRecordings(stage, oneDay.id, Math.min(recordings, 100_000), 0);
  const service = await stage.service('api');
  const day = (back) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);
  const filters = `status=transcribed&date_from=${day(200)}&date_to=${day(100)}`;
  const lastPage = (count) => Math.floor((count - 1) / 50);
  const cases = [
    { what: 'list, first page', path: () => '/v1/recordings?limit=50', target: 1.3 },
    { what: 'list, status and days', path: () => `/v1/recordings?limit=50&${filters}`, target: 1.5 },
    { what: 'list, middle page', path: (count) => `/v1/recordings?limit=50&page=${lastPage(count) >> 1}`, target: 3 },
    { what: 'list, last page', path: (count) => `/v1/recordings?limit=50&page=${lastPage(count)}`, target: 2 },
    { what: 'account', path: () => '/v1/account', target: 1.1 },
  ];
  const results = [];
  for (const { what, path, target } of cases) {
    const at = (account, count) => () =>
      load(service.url + path(count), { headers: account.headers, seconds, connections: 1 });
    await at(large, recordings)();
    const [a, b] = await alternate(pairs, at(large, recordings), at(small, SMALL));
    // Single-digit milliseconds are too coarse for a percentile: one connection's rate is the time of one request.
    const time = (list) => list.map(({ perSecond }) => 1000 / perSecond);
    const figures = `${median(time(a)).toFixed(2)} against ${median(time(b)).toFixed(2)} ms`;
    results.push({
      what: `${what}, ${recordings / 1000}k / 1k`,
      value: ratio(time(a), time(b)),
      target,
      atMost: true,
      figures,
    });
  }
  const deep = await load(`${service.url}/v1/recordings?limit=50&page=1000`, {
    headers: oneDay.headers,
    seconds,
    connections: 1,
  });
  results.push({ what: 'list, page 1,000 of one day of 100k (ms)', value: 1000 / deep.perSecond, figures: '' });
  await service.stop();
  return results;
}
