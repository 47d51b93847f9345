import { run } from '../../../scripts/lib/processes.mjs';
import { ROOT } from '../../../scripts/lib/paths.mjs';

const CONNECTIONS = 32;

/** A row of the table: what was measured, and in words what it was compared with. Without a target it is only published. */
export const published = (what, value, figures = '') => ({ what, value, figures });
export const atLeast = (target, what, value, figures = '') => ({ what, value, target, figures });
export const atMost = (target, what, value, figures = '') => ({ what, value, target, atMost: true, figures });

/**
 * GETs one path from another process for a while.
 * @returns {Promise<{ perSecond: number, p50: number, p99: number }>} milliseconds
 */
export async function load(url, { headers = {}, seconds, connections = CONNECTIONS, rate }) {
  const flags = ['--json', '-c', `${connections}`, '-d', `${seconds}`];
  if (rate) flags.push('-R', `${rate}`);
  for (const [name, value] of Object.entries(headers)) flags.push('-H', `${name}=${value}`);
  const { code, stdout, output } = await run('node_modules/.bin/autocannon', [...flags, url], { cwd: ROOT });
  if (code !== 0) throw new Error(output);
  const { requests, latency, errors, non2xx } = JSON.parse(stdout);
  if (errors > 0 || non2xx > 0) throw new Error(`${url}: ${errors} errors, ${non2xx} answers that are not 2xx`);
  return { perSecond: requests.average, p50: latency.p50, p99: latency.p99 };
}

/** Takes turns, so that whatever slows the machine down slows both: what is asked for is the ratio. */
export async function alternate(pairs, ...works) {
  const results = works.map(() => []);
  for (let i = 0; i < pairs; i++) {
    for (const [k, work] of works.entries()) results[k].push(await work());
  }
  return results;
}

/** As `alternate`, after each has run once. */
export async function alternateWarm(pairs, ...works) {
  for (const warmUp of works) await warmUp();
  return await alternate(pairs, ...works);
}

export const rates = (results) => results.map(({ perSecond }) => perSecond);
export const medianRate = (results) => Math.round(median(rates(results))).toLocaleString('en');

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of the ratios of the pairs. */
export function ratio(ours, theirs) {
  return median(ours.map((value, i) => value / theirs[i]));
}
