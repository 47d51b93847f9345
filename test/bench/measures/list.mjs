import { alternate, load, median, ratio } from '../lib/load.mjs';
import { COLUMNS, insertRecordings } from '../lib/recordings.mjs';

/** A page of 50 beside a bare server that runs a plain statement for the same rows. */
export async function measureList(stage, { pairs, seconds }) {
  const account = await stage.account();
  await insertRecordings(stage, account.id, 1000, 30);
  const service = await stage.service('api');
  const bare = await stage.baseline('bare-server.mjs', {
    SQL: `SELECT ${COLUMNS} FROM recordings WHERE account_id = $1 ORDER BY created_at DESC, id DESC LIMIT 50`,
    PARAMETERS: JSON.stringify([account.id]),
    WRAP: 'list',
  });
  const ours = () => load(`${service.url}/v1/recordings?limit=50`, { headers: account.headers, seconds });
  const theirs = () => load(`${bare.url}/`, { seconds });
  await ours();
  await theirs();
  const [a, b] = (await alternate(pairs, ours, theirs)).map((results) => results.map(({ perSecond }) => perSecond));
  await service.stop();
  await bare.stop();
  const figures = `${Math.round(median(a))} against ${Math.round(median(b))} requests/s`;
  return [{ what: 'GET a list of 50 / bare', value: ratio(a, b), target: 0.6, figures }];
}
