import { published } from './figures.mjs';
import { writePlans } from './plans.mjs';

const LIMIT = 50;
const lastPage = (count) => Math.floor((count - 1) / LIMIT);
const day = (back) => new Date(Date.now() - back * 86_400_000).toISOString().slice(0, 10);

const FILTERS = { status: 'transcribed', date_from: day(200), date_to: day(1) };

/** Pages of the list of recordings, and by how much more a large account may wait for them. */
export const PAGES = [
  { what: 'first page', query: () => ({ page: 0 }), target: 1.3 },
  { what: 'status and days', query: () => ({ page: 0, ...FILTERS }), target: 1.5 },
  { what: 'middle page', query: (count) => ({ page: lastPage(count) >> 1 }), target: 3 },
  { what: 'last page', query: (count) => ({ page: lastPage(count) }), target: 2 },
].map(({ query, ...rest }) => {
  const whole = (count) => ({ ...query(count), limit: LIMIT });
  return { ...rest, query: whole, path: (count) => `/v1/recordings?${new URLSearchParams(whole(count))}` };
});

/**
 * How many 8 KiB blocks Postgres looks at for each page; the plans go to `.data/bench`.
 * @param {string} spread such as `a year`
 */
export async function explainPages(stage, account, count, spread) {
  const { pageStatement } = await import('../../../dist/modules/recordings/recording-page.queries.js');
  const statements = PAGES.map(({ what, query }) => [`${what} of ${count}`, pageStatement(account.id, query(count))]);
  const plans = await writePlans(stage, `plans-${count}-in-${spread.replaceAll(' ', '-')}.txt`, statements);
  return plans.map((plan, i) => {
    const [, hit = '0', read = '0'] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
    return published(`${PAGES[i].what} of ${count / 1000}k in ${spread}: blocks`, Number(hit) + Number(read));
  });
}
