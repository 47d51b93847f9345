import { Agent } from 'undici';
import { alternate, alternateWarm, atLeast, atMost, load, median, ratio } from '../lib/figures.mjs';
import { formOf, inParallel, post, wavOf } from '../lib/uploads.mjs';

const SMALL_BYTES = 100_000;
const WIDTH = 16;
const LARGE_BYTES = 25 * 2 ** 20;
const LARGE_COUNT = 32;
const WATCH_MS = 50;

/** Recordings of 100 kB, 16 at a time, beside a bare receiver that is as careful with them. */
export async function measureUpload(stage, { pairs, uploads }) {
  const account = await stage.account();
  const service = await stage.service('api');
  const bare = await stage.baseline('bare-receiver.mjs');
  const body = formOf(wavOf(SMALL_BYTES));
  const dispatcher = new Agent({ connections: WIDTH });
  const sendTo = (url, headers) => async () => {
    const one = async () => {
      const { status, body: text } = await post(url, { headers, body, dispatcher });
      if (status !== 201) throw new Error(`${url}: ${status} ${text}`);
    };
    return uploads / ((await inParallel(uploads, WIDTH, one)) / 1000);
  };
  const ours = sendTo(`${service.url}/v1/recordings`, account.headers);
  const theirs = sendTo(`${bare.url}/upload`, {});
  const [a, b] = await alternateWarm(pairs, ours, theirs);
  await dispatcher.close();
  const figures = `${Math.round(median(a))} against ${Math.round(median(b))} uploads/s`;
  return [atLeast(0.5, 'upload of 100 kB, 16 at a time / bare', ratio(a, b), figures)];
}

/** 32 uploads of 25 MB at once: what they cost in memory, and what they cost other requests. */
export async function measureLargeUploads(stage, { pairs }) {
  const account = await stage.account();
  const service = await stage.service('api');
  const bare = await stage.baseline('bare-receiver.mjs');
  const body = formOf(wavOf(LARGE_BYTES - 1000));
  const others = `${service.url}/v1/account`;
  await load(others, { headers: account.headers, seconds: 1, connections: 4 });
  const flood = (url, headers) => async () => {
    const before = service.memory();
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, service.memory())), WATCH_MS);
    let isRunning = true;
    const uploads = Promise.all(Array.from({ length: LARGE_COUNT }, () => post(url, { headers, body }))).finally(
      () => (isRunning = false),
    );
    const waits = [];
    while (isRunning) {
      const startedAt = performance.now();
      await fetch(others, { headers: account.headers }).then((response) => response.text());
      waits.push(performance.now() - startedAt);
    }
    clearInterval(watch);
    const statuses = (await uploads).map(({ status }) => status);
    if (statuses.some((status) => status !== 201)) throw new Error(`${url}: ${statuses.join()}`);
    return { grownMb: (peak - before) / 2 ** 20, p99: percentile(waits, 0.99) };
  };
  const ours = flood(`${service.url}/v1/recordings`, account.headers);
  await ours();
  const [a, b] = await alternate(pairs, ours, flood(`${bare.url}/upload`, {}));
  const waits = (list) => list.map(({ p99 }) => p99);
  const figures = `p99 ${median(waits(a)).toFixed(0)} against ${median(waits(b)).toFixed(0)} ms`;
  return [
    atMost(120, '32 × 25 MB at once, growth of memory (MB)', Math.max(...a.map(({ grownMb }) => grownMb))),
    atMost(3, 'other requests meanwhile / beside the bare receiver', ratio(waits(a), waits(b)), figures),
  ];
}

function percentile(values, share) {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];
}
