import { alternate, load, ratio, median } from '../lib/load.mjs';
import { COLUMNS, insertRecordings } from '../lib/recordings.mjs';

/** One recording, with everything on, beside a bare server and beside stock Nest. */
export async function measureGet(stage, { pairs, seconds }) {
  const account = await stage.account();
  await insertRecordings(stage, account.id, 1000, 30);
  const [{ id }] = await stage.sql('SELECT id FROM recordings WHERE account_id = $1 LIMIT 1', [account.id]);
  const statement = {
    SQL: `SELECT ${COLUMNS} FROM recordings WHERE id = $2 AND account_id = $1`,
    PARAMETERS: JSON.stringify([account.id, id]),
  };
  const service = await stage.service('api');
  const bare = await stage.baseline('bare-server.mjs', statement);
  const stock = await stage.baseline('stock-nest.mjs', statement);
  const one = (url, headers) => () => load(url, { headers, seconds });
  const ours = one(`${service.url}/v1/recordings/${id}`, account.headers);
  const others = [one(`${bare.url}/one`), one(`${stock.url}/one`)];
  for (const warmUp of [ours, ...others]) await warmUp();
  const [a, b, c] = await alternate(pairs, ours, ...others);
  for (const running of [service, bare, stock]) await running.stop();
  const rate = (results) => results.map(({ perSecond }) => perSecond);
  const figures = `${figure(rate(a))} against ${figure(rate(b))} bare, ${figure(rate(c))} stock requests/s`;
  const late = ratio(
    a.map(({ p99 }) => p99),
    b.map(({ p99 }) => p99),
  );
  return [
    { what: 'GET one recording / bare', value: ratio(rate(a), rate(b)), target: 0.75, figures },
    { what: 'GET one recording / stock Nest', value: ratio(rate(a), rate(c)), target: 1.5, figures: '' },
    { what: 'its p99 / bare', value: late, target: 2.5, atMost: true, figures: '' },
  ];
}

const figure = (values) => Math.round(median(values)).toLocaleString('en');
