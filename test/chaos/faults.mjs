import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { childrenOf, trySignal, waitUntil } from '../../scripts/lib/processes.mjs';

/** For so long a server stays away that was made to crash. */
const DOWN_MS = 1000;
const BUSY_RECORDINGS = 2;
const BUSY_MS = 30_000;
/** Nothing listens there. */
const NO_PRIMARY = ['127.0.0.1', 1];

/** What a run does to its processes and servers. */
export class Faults {
  #services;
  #member;
  #store;
  #turns = {};

  /**
   * @param {(kind: 'api' | 'worker') => import('./fleet.mjs').Member} member one of this kind, at random
   * @param {import('../support/servers/fake-s3.mjs').FakeS3 | null} store null where audio is stored on disk
   */
  constructor(services, member, store) {
    this.#services = services;
    this.#member = member;
    this.#store = store;
  }

  /** @param {import('./plan.mjs').Fault} fault */
  async inject({ kind, seconds }) {
    const { postgres, redis } = this.#services;
    const faults = {
      worker: () => this.#member('worker').signal('SIGKILL'),
      api: () => this.#member('api').signal('SIGKILL'),
      redis: () => this.#alone('redis', () => crash(redis, 'SIGKILL')),
      // What `pg_ctl stop --mode immediate` sends.
      postgres: () => this.#alone('postgres', () => crash(postgres, 'SIGQUIT')),
      flush: () => this.#alone('redis', () => this.#withRedis((client) => client.flushall())),
      'freeze worker': () => freeze([this.#member('worker').pid], seconds),
      'freeze busy worker': async () => freeze([(await this.#busyWorker()).pid], seconds),
      'freeze redis': () => this.#alone('redis', () => freeze([redis.pid], seconds)),
      // The postmaster first, so that it starts no process that is not frozen.
      'freeze postgres': () =>
        this.#alone('postgres', () => freeze([postgres.pid, ...childrenOf(postgres.pid)], seconds)),
      'demote redis': () => this.#alone('redis', () => this.#demote(seconds)),
      'hang store': () => this.#alone('store', () => this.#hang(seconds)),
    };
    await faults[kind]();
  }

  /** One that transcribes, so that its leases expire. */
  async #busyWorker() {
    let worker;
    const isBusy = await waitUntil(async () => {
      worker = this.#member('worker');
      return (await worker.recordings()) >= BUSY_RECORDINGS;
    }, BUSY_MS);
    if (!isBusy) throw new Error('no worker had anything to transcribe');
    return worker;
  }

  /** As a primary that a fail-over has made a replica: it refuses writes with READONLY. */
  async #demote(seconds) {
    await this.#withRedis(async (client) => {
      await client.replicaof(...NO_PRIMARY);
      await sleep(seconds * 1000);
      await client.replicaof('NO', 'ONE');
    });
  }

  /** It takes requests and answers none of them, not even later. What it was sent it stores at the end. */
  async #hang(seconds) {
    const { requests, objects, bucket } = this.#store;
    const before = requests.length;
    this.#store.hangs = true;
    await sleep(seconds * 1000);
    this.#store.hangs = false;
    const late = requests.slice(before).filter(({ method }) => method === 'PUT');
    for (const key of late.map(({ url }) => keyOf(url, bucket))) {
      if (!objects.has(key)) objects.set(key, Buffer.from('arrived late'));
    }
  }

  async #withRedis(work) {
    const client = new Redis(this.#services.env.REDIS_URL, { maxRetriesPerRequest: 3 });
    client.on('error', () => undefined);
    await work(client).finally(() => client.disconnect());
  }

  /** One fault of a server after the other: a server that is down cannot be killed. */
  async #alone(server, work) {
    const turn = (this.#turns[server] ?? Promise.resolve()).then(work);
    this.#turns[server] = turn.catch(() => undefined);
    await turn;
  }
}

function keyOf(url, bucket) {
  return new URL(url, 'http://store').pathname.slice(`/${bucket}/`.length);
}

async function crash(server, signal) {
  await server.signal(signal);
  await sleep(DOWN_MS);
  await server.start();
}

async function freeze(pids, seconds) {
  for (const pid of pids) trySignal(pid, 'SIGSTOP');
  await sleep(seconds * 1000);
  for (const pid of pids.toReversed()) trySignal(pid, 'SIGCONT');
}
