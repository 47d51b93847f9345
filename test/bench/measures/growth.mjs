import { alternate, atMost, load, median, published, ratio } from '../lib/figures.mjs';
import { explainPages, PAGES } from '../lib/pages.mjs';
import { insertRecordings } from '../lib/recordings.mjs';
import { Stage } from '../lib/stage.mjs';

const DAYS = 365;
const SMALL = 1000;

/** What a request costs an account with a year of many recordings, beside one with a thousand in a database of its own. */
export async function measureGrowth(stage, extent) {
  const other = await Stage.open();
  try {
    const large = await settle(stage, extent.recordings, DAYS);
    const small = await settle(other, SMALL, DAYS);
    return [
      ...(await compare(large, small, extent)),
      ...(await explainPages(stage, large.account, extent.recordings, 'a year')),
    ];
  } finally {
    await other.close();
  }
}

/** The same with all recordings in one day, where the counts of days tell nothing: published, without a target. */
export async function measureOneDay(stage, { recordings, seconds }) {
  const crowd = await settle(stage, recordings, 0);
  const results = [];
  for (const { what, path } of PAGES) {
    const time = await timeOf(crowd, path(crowd.count), seconds);
    results.push(published(`list, ${what} of ${inThousands(recordings)} in one day (ms)`, time));
  }
  return [...results, ...(await explainPages(stage, crowd.account, recordings, 'one day'))];
}

async function settle(stage, count, days) {
  const account = await stage.account();
  await insertRecordings(stage, account.id, count, days);
  return { account, count, service: await stage.service('api') };
}

async function compare(large, small, { pairs, seconds }) {
  const results = [];
  const account = { what: 'account', path: () => '/v1/account', target: 1.1 };
  for (const { what, path, target } of [...PAGES, account]) {
    const at = (one) => () => timeOf(one, path(one.count), seconds);
    await at(large)();
    const [a, b] = await alternate(pairs, at(large), at(small));
    const figures = `${median(a).toFixed(2)} against ${median(b).toFixed(2)} ms`;
    results.push(
      atMost(target, `${what}, ${inThousands(large.count)} / ${inThousands(small.count)}`, ratio(a, b), figures),
    );
  }
  return results;
}

/** Milliseconds: the percentiles of the load are too coarse for these, one connection's rate is the time of a request. */
async function timeOf({ service, account }, path, seconds) {
  const { perSecond } = await load(service.url + path, { headers: account.headers, seconds, connections: 1 });
  return 1000 / perSecond;
}

const inThousands = (count) => `${count / 1000}k`;
