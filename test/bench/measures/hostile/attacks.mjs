import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { atMost, published } from '../../lib/figures.mjs';

/** The tenant is not at the address of the attacker, whose connections are counted together. */
const TENANT_ADDRESS = '127.0.0.2';
/** 127.0.0.1 in /proc/net/tcp, and at the end of an address in /proc/net/tcp6. */
const ATTACKER_HEX = '0100007F';
const PROBE_MS = 20;
const SAMPLE_MS = 200;
const CALM_SECONDS = 5;
/** A request without an answer by then counts as failed. */
const PROBE_TIMEOUT_MS = 20_000;

/** What strangers, and one tenant, can do to the others: memory of the process, and latency of another tenant. */
export async function measureAttacks(stage, { attackSeconds }) {
  const tenant = await stage.account();
  const attacker = await stage.account();
  const rows = [];
  for (const attack of ['pipelining', 'slow bodies', 'half heads', 'public pages']) {
    rows.push(...(await endure(stage, { attack, attackSeconds, tenant, attacker })));
  }
  return rows;
}

async function endure(stage, { attack, attackSeconds, tenant, attacker }) {
  const service = await stage.service('api');
  await probe(service, tenant, CALM_SECONDS);
  const calm = await probe(service, tenant, CALM_SECONDS);
  const before = service.memory();
  const port = Number(new URL(service.url).port);
  const authorization = Object.entries(attacker.headers).map(([name, value]) => `${name}: ${value}`);
  const worker = new Worker(new URL('attacker.mjs', import.meta.url), {
    workerData: { port, attack, authorization },
  });
  const watched = watch(service, port, worker);
  const under = await probe(service, tenant, attackSeconds);
  const { peak, lifetimes, left } = watched.stop();
  await worker.terminate();
  await service.stop();
  const closed = lifetimes.length > 0 ? `${lifetimes.length} closed after at most ${max(lifetimes)} s` : 'none closed';
  const [p99, failed] = [at(under, 0.99), under.filter((ms) => ms === Infinity).length];
  const figures =
    `${at(calm, 0.99).toFixed(0)} before; at most ${at(under, 1).toFixed(0)} (before ${at(calm, 1).toFixed(0)}), ` +
    `${under.length} requests, ${failed} failed`;
  const oldest = [`${attack}: oldest connection left (s)`, max(left), closed];
  return [
    atMost(60, `${attack}: growth of memory (MB)`, (peak - before) / 2 ** 20),
    atMost(100, `${attack}: p99 of a tenant (ms)`, p99, figures),
    // Whoever reads its answers may go on.
    attack === 'public pages' ? published(...oldest) : atMost(60, ...oldest),
  ];
}

/**
 * Sorted milliseconds of GET requests of a tenant, one every 20 ms whether or not earlier ones were answered. Infinity
 * for those that failed.
 */
async function probe(service, { headers }, seconds) {
  const agent = new Agent({ keepAlive: true, localAddress: TENANT_ADDRESS });
  const taken = [];
  const running = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    running.push(
      timed(`${service.url}/v1/account`, { headers, agent }).then(
        (ms) => taken.push(ms),
        () => taken.push(Infinity),
      ),
    );
    await sleep(PROBE_MS);
  }
  await Promise.all(running);
  agent.destroy();
  return taken.toSorted((a, b) => a - b);
}

async function timed(url, options) {
  const started = performance.now();
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const [answer] = await once(get(url, { ...options, signal }), 'response');
  answer.resume();
  await once(answer, 'end');
  return answer.statusCode === 200 ? performance.now() - started : Infinity;
}

/** Memory, and how long each connection of the attacker stays open on the side of the service. */
function watch(service, port, worker) {
  let peak = service.memory();
  const openedAt = new Map();
  const lifetimes = [];
  worker.on('message', (localPort) => openedAt.set(localPort, performance.now()));
  const timer = setInterval(() => {
    peak = Math.max(peak, service.memory());
    const open = established(port);
    for (const [localPort, since] of openedAt) {
      if (open.has(localPort) || performance.now() - since < SAMPLE_MS) continue;
      lifetimes.push((performance.now() - since) / 1000);
      openedAt.delete(localPort);
      worker.postMessage(localPort);
    }
  }, SAMPLE_MS);
  return {
    stop() {
      clearInterval(timer);
      return { peak, lifetimes, left: [...openedAt.values()].map((since) => (performance.now() - since) / 1000) };
    },
  };
}

/** The ports of the attacker's established connections to a port (proc(5)). */
function established(port) {
  const local = port.toString(16).toUpperCase().padStart(4, '0');
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => readFileSync(file, 'utf8').split('\n'));
  const peers = lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, own, , state]) => state === '01' && own?.endsWith(`:${local}`))
    .map(([, , peer]) => peer.split(':'))
    .filter(([address]) => address.endsWith(ATTACKER_HEX))
    .map(([, peerPort]) => Number.parseInt(peerPort, 16));
  return new Set(peers);
}

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Infinity;
// Ten minutes have more connections than a call may have arguments.
const max = (values) => Math.round(values.reduce((most, value) => Math.max(most, value), 0));
