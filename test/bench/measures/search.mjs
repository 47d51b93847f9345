import { alternateWarm, atMost, median, ratio } from '../lib/figures.mjs';
import { insertNotes } from '../lib/notes.mjs';
import { writePlans } from '../lib/plans.mjs';
import { Stage } from '../lib/stage.mjs';

const SMALL = 1000;
const LIMIT = 50;

/** Searches of many recordings, by their number. `target`: milliseconds, if not the usual ones. */
const SEARCHES = [
  { what: 'a word in a third', query: () => ({ q: 'third' }) },
  { what: '… last page', query: (count) => ({ q: 'third', page: Math.floor(count / 3 / LIMIT) - 1 }) },
  { what: '… by rank', query: () => ({ q: 'third', order: 'rank' }) },
  { what: '… not', query: () => ({ q: '-third' }) },
  { what: '… and a tag in a tenth: nothing', query: () => ({ q: 'third', 'tag.kind': 'tenth' }) },
  { what: '… of an end user', query: () => ({ q: 'third', user_id: 'user-7' }) },
  { what: 'a phrase of the most frequent words', query: () => ({ q: '"be ce de"' }), target: 5000 },
  { what: 'a tag in a third', query: () => ({ 'tag.kind': 'third' }) },
  { what: '… of one day', query: () => ({ 'tag.kind': 'third', date_to: dayBack(100), date_from: dayBack(100) }) },
  { what: 'the recordings of an end user', query: () => ({ user_id: 'user-7' }) },
];
const TARGET_MS = 2000;

/** What a search costs among many recordings, beside one among a thousand in a database of its own, and in the same. */
export async function measureSearch(stage, { recordings, pairs, explain = false }) {
  const other = await Stage.open();
  try {
    const large = await settle(stage, recordings);
    const beside = await settle(stage, SMALL, large.service);
    const small = await settle(other, SMALL);
    const results = await compareRare(large, beside, small, pairs);
    for (const { what, query, target = TARGET_MS } of SEARCHES) {
      const times = [];
      for (let i = 0; i <= pairs; i++) times.push(await timeOf(large, query(recordings)));
      results.push(atMost(target, `${what} of ${recordings / 1000}k (ms)`, median(times.slice(1))));
    }
    if (explain) await explainSearches(stage, large);
    return results;
  } finally {
    await other.close();
  }
}

function dayBack(days) {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
}

async function settle(stage, count, service) {
  const account = await stage.account();
  await insertNotes(stage, account.id, count);
  return { account, count, service: service ?? (await stage.service('api')) };
}

async function compareRare(large, beside, small, pairs) {
  const search = (one) => async () => {
    const times = [];
    for (let i = 0; i < 40; i++) times.push(await timeOf(one, { q: 'rare' }, 200));
    return median(times);
  };
  const results = [];
  for (const [what, one] of [
    ['200 matches in', large],
    ['200 matches in 1k beside', beside],
  ]) {
    const [a, b] = await alternateWarm(pairs, search(one), search(small));
    const figures = `${median(a).toFixed(2)} against ${median(b).toFixed(2)} ms`;
    results.push(atMost(2, `${what} ${large.count / 1000}k / in 1k`, ratio(a, b), figures));
  }
  return results;
}

/** Milliseconds of one request. */
async function timeOf({ service, account }, query, expected) {
  const url = `${service.url}/v1/recordings?${new URLSearchParams({ limit: LIMIT, ...query })}`;
  const startedAt = performance.now();
  const response = await fetch(url, { headers: account.headers });
  const body = await response.json();
  const time = performance.now() - startedAt;
  if (!response.ok) throw new Error(`${url}: ${response.status} ${JSON.stringify(body)}`);
  if (expected !== undefined && body.total !== expected)
    throw new Error(`${url}: ${body.total} instead of ${expected}`);
  return time;
}

/** The plans go to `.data/bench`. */
async function explainSearches(stage, { account, count }) {
  const { bestStatement, matchesStatement, walkStatement } =
    await import('../../../dist/modules/recordings/search/recording-search.queries.js');
  const { AccountTerms, quoted } = await import('../../../dist/modules/recordings/search/search-terms.js');
  const terms = new AccountTerms(account.id);
  const filterOf = (word) => ({ accountId: account.id, terms: quoted(terms.word(word)), phrases: null });
  const slice = { limit: LIMIT, offset: 0 };
  const statements = [
    ['rare word: counted and sorted', matchesStatement(filterOf('rare'), slice, 10_001, 'newest')],
    ['word in a third: counted', matchesStatement(filterOf('third'), slice, 10_001, 'newest')],
    ['word in a third: the newest', walkStatement(filterOf('third'), slice, 'newest')],
    ['word in a third: all sorted', matchesStatement(filterOf('third'), slice, null, 'newest')],
    ['word in a third: by rank', bestStatement(filterOf('third'), quoted(terms.word('third')), slice)],
  ];
  await stage.sql(
    "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off; SET work_mem = '16MB'",
  );
  await writePlans(stage, `search-plans-${count}.txt`, statements);
}
