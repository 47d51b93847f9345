import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Agent } from 'undici';
import { cpuSeconds } from '../lib/cpu.mjs';
import { atMost, load, median, published } from '../lib/figures.mjs';
import { subscribe } from '../lib/receivers.mjs';
import { Stage } from '../lib/stage.mjs';
import { SHORT_RECORDING } from '../lib/transcriptions.mjs';
import { formOf, inParallel, post } from '../lib/uploads.mjs';

/** Processes of each role. */
const COUNTS = [1, 2, 4, 8];
const LAST = COUNTS.length - 1;
const ROLES = ['api', 'transcriber', 'deliverer'];
/** However many processes there are. */
const ACCOUNTS = 4;
/** Of each process: with fewer in each, statements are shared by fewer requests. */
const CONNECTIONS = 4;
/** Uploads of each process before it is measured: new processes still compile their code. */
const WARM_UP = 100;
const START_AT_ONCE = 4;
/** Three rounds of the reconciler. */
const IDLE_MS = 15_000;
const SETTLE_MS = 3000;
const POLL_MS = 100;
/** A growth from one process to eight that is none: figures of two runs differ as much. */
const SAME = 1.3;
const KINDS = [
  { kind: 'upload', what: 'an upload' },
  { kind: 'read', what: 'a read' },
  { kind: 'recording', what: 'a recording transcribed' },
  { kind: 'delivery', what: 'a delivery' },
];
const ENGINE = { TRANSCRIPTION_ENGINE: 'openai', SPEECH_DETECTOR: 'energy' };

/**
 * Whether a request costs more with more processes, and what processes cost that have nothing to do. One role works at a time
 * while the processes of the others are stopped by a signal: the CPU of Postgres is then that of this role.
 */
export async function measureProcesses(_stage, { pairs, uploads, seconds, explain }) {
  const runs = COUNTS.map(() => []);
  for (let round = 0; round < Math.ceil(pairs / 3); round++)
    for (const [i, count] of COUNTS.entries()) runs[i].push(await measure(count, { uploads, seconds, explain }));
  const figure = (name, i) => median(runs[i].map((run) => run[name]));
  const all = (name, digits) => COUNTS.map((_, i) => figure(name, i).toFixed(digits)).join(', ');
  const growth = (name, what) =>
    atMost(SAME, `${what}: ${COUNTS[LAST]} processes / 1`, figure(name, LAST) / figure(name, 0), all(name, 0));
  const each = (name, what, digits) => {
    const slope = (figure(name, LAST) - figure(name, 0)) / (COUNTS[LAST] - COUNTS[0]);
    return published(`${what}, for each process more`, slope, `${all(name, digits)} with ${COUNTS.join(', ')}`);
  };
  return [
    ...KINDS.flatMap(({ kind, what }) => [
      growth(`${kind}Node`, `${what}, µs of CPU in Node`),
      growth(`${kind}Postgres`, `${what}, µs of CPU in Postgres`),
      published(`${what}, µs of CPU in Redis`, figure(`${kind}Redis`, 0), all(`${kind}Redis`, 0)),
      published(`${what}, statements`, figure(`${kind}Statements`, 0), all(`${kind}Statements`, 1)),
      published(`${what}, numbers of transactions`, figure(`${kind}Transactions`, 0), all(`${kind}Transactions`, 1)),
      published(`${what}, bytes of WAL`, figure(`${kind}Wal`, 0), all(`${kind}Wal`, 0)),
    ]),
    ...ROLES.flatMap((role) => [
      each(`${role}Statements`, `idle ${role}, statements a second`, 2),
      each(`${role}Commands`, `idle ${role}, Redis commands a second`, 2),
      each(`${role}Node`, `idle ${role}, ms of CPU a second in Node`, 1),
      each(`${role}Postgres`, `idle ${role}, ms of CPU a second in Postgres`, 1),
      each(`${role}Connections`, `${role}, connections to Postgres`, 0),
      each(`${role}Clients`, `${role}, connections to Redis`, 0),
      published(`${role}, MB of a process`, figure(`${role}Memory`, 0), all(`${role}Memory`, 0)),
    ]),
  ];
}

async function measure(count, extent) {
  const stage = await Stage.open();
  const redis = new Redis(stage.env.REDIS_URL);
  const fleet = new Fleet(stage, redis, count);
  try {
    await allowMany(stage);
    return await fleet.measure(extent);
  } finally {
    fleet.letWork(...ROLES);
    redis.disconnect();
    await stage.close();
  }
}

/** Connections for all, and a count of statements. */
async function allowMany(stage) {
  await stage.sql('ALTER SYSTEM SET max_connections = 600');
  await stage.sql("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'");
  await stage.services.postgres.stop();
  await stage.services.postgres.start();
  await stage.sql('CREATE EXTENSION pg_stat_statements');
}

class Fleet {
  figures = {};
  accounts = [];
  /** @type {Record<string, Array<Awaited<ReturnType<Stage['service']>>>>} */
  processes = { api: [], transcriber: [], deliverer: [] };

  constructor(stage, redis, count) {
    Object.assign(this, { stage, redis, count });
  }

  async measure({ uploads, seconds, explain }) {
    const { stage } = this;
    const [sink, texts] = [await stage.baseline('sink.mjs'), await stage.baseline('text-server.mjs')];
    for (let i = 0; i < ACCOUNTS; i++) this.accounts.push(await stage.account());
    for (const role of ROLES) await this.start(role, { ...ENGINE, OPENAI_BASE_URL: `${texts.url}/v1` });
    for (const account of this.accounts) await subscribe(this.processes.api[0], account, `${sink.url}/`);
    this.letWork('api');
    const id = await this.upload(WARM_UP * this.count, { tries: 10 });
    this.letWork(...ROLES);
    await this.until(`recordings WHERE status = 'processing'`);
    await this.until(`deliveries WHERE status = 'pending'`);

    for (const role of ROLES) {
      this.letWork(role);
      await sleep(SETTLE_MS);
      await this.idle(role, explain && this.count === COUNTS[LAST]);
    }
    // As many for each process, in which each is as warm.
    const total = uploads * this.count;
    this.letWork('api');
    await this.cost('upload', 'api', async () => {
      await this.upload(total);
      return total;
    });
    await this.read(id, seconds * this.count);
    await this.cost('read', 'api', () => this.read(id, seconds * this.count));
    this.letWork('transcriber');
    await this.cost('recording', 'transcriber', async () => {
      await this.until(`recordings WHERE status = 'processing'`);
      return total;
    });
    this.letWork('deliverer');
    await this.cost('delivery', 'deliverer', async () => {
      await this.until(`deliveries WHERE status = 'pending'`);
      return total;
    });
    for (const role of ROLES) await this.describe(role);
    return this.figures;
  }

  async start(role, overrides) {
    const started = this.processes[role];
    const before = (await this.redisInfo()).clients;
    while (started.length < this.count) {
      const more = Math.min(START_AT_ONCE, this.count - started.length);
      started.push(...(await Promise.all(Array.from({ length: more }, () => this.stage.service(role, overrides)))));
    }
    this.figures[`${role}Clients`] = (await this.redisInfo()).clients - before;
  }

  /** Stops the processes of all other roles where they are. */
  letWork(...workers) {
    for (const role of ROLES)
      for (const { child } of this.processes[role]) child.kill(workers.includes(role) ? 'SIGCONT' : 'SIGSTOP');
  }

  /**
   * Spread over processes and accounts. While connections to Postgres are opened by all processes at once, some are refused.
   * @returns the id of one recording of the first account
   */
  async upload(total, { tries = 1 } = {}) {
    const body = formOf(readFileSync(SHORT_RECORDING));
    const dispatcher = new Agent({ connections: CONNECTIONS });
    const ids = [];
    await inParallel(total, CONNECTIONS * this.count, async (i) => {
      const { url } = this.processes.api[i % this.count];
      const { headers } = this.accounts[i % ACCOUNTS];
      const send = () => post(`${url}/v1/recordings`, { headers, body, dispatcher });
      let answer = await send();
      for (let tried = 1; answer.status === 503 && tried < tries; tried++) answer = await sleep(1000).then(send);
      if (answer.status !== 201) throw new Error(`${url}: ${answer.status} ${answer.body}`);
      ids[i] = JSON.parse(answer.body).id;
    });
    await dispatcher.close();
    return ids[0];
  }

  /** @returns how many requests */
  async read(id, seconds) {
    const { headers } = this.accounts[0];
    const runs = this.processes.api.map(({ url }) =>
      load(`${url}/v1/recordings/${id}`, { headers, seconds, connections: CONNECTIONS }),
    );
    return (await Promise.all(runs)).reduce((sum, { perSecond }) => sum + perSecond * seconds, 0);
  }

  /** Until no row is left. */
  async until(rows) {
    while ((await this.stage.sql(`SELECT EXISTS (SELECT FROM ${rows}) AS left`))[0].left) await sleep(POLL_MS);
  }

  async cost(kind, role, work) {
    const before = await this.snapshot(role);
    const count = await work();
    const after = await this.snapshot(role);
    const each = (name, factor = 1) => ((after[name] - before[name]) / count) * factor;
    Object.assign(this.figures, {
      [`${kind}Node`]: each('node', 1e6),
      [`${kind}Postgres`]: each('postgres', 1e6),
      [`${kind}Redis`]: each('redis', 1e6),
      [`${kind}Statements`]: each('statements'),
      [`${kind}Wal`]: each('wal'),
      [`${kind}Transactions`]: each('transactions'),
    });
  }

  async idle(role, explain) {
    await this.stage.sql('SELECT pg_stat_statements_reset()');
    const before = await this.snapshot(role);
    await sleep(IDLE_MS);
    const after = await this.snapshot(role);
    const rate = (name, factor = 1) => ((after[name] - before[name]) / (IDLE_MS / 1000)) * factor;
    Object.assign(this.figures, {
      [`${role}Statements`]: rate('statements'),
      [`${role}Commands`]: rate('commands'),
      [`${role}Node`]: rate('node', 1000),
      [`${role}Postgres`]: rate('postgres', 1000),
    });
    if (explain) console.log(`\n${role}\n${(await this.frequent()).join('\n')}`);
  }

  async snapshot(role) {
    const [{ statements, wal, transactions }] = await this.stage.sql(
      `SELECT (SELECT sum(calls)::float8 FROM pg_stat_statements WHERE query !~ 'pg_stat_statements|AS left$') AS statements,
         pg_current_wal_lsn() - '0/0'::pg_lsn AS wal, pg_snapshot_xmax(pg_current_snapshot())::text AS transactions`,
    );
    const { commands } = await this.redisInfo();
    return {
      statements: statements ?? 0,
      wal: Number(wal),
      transactions: Number(transactions),
      commands,
      node: this.processes[role].reduce((sum, { pid }) => sum + cpuSeconds(pid), 0),
      postgres: cpuSeconds(this.stage.services.postgres.pid),
      redis: cpuSeconds(this.stage.services.redis.pid),
    };
  }

  async redisInfo() {
    const info = await this.redis.info();
    const number = (name) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)[1]);
    return { commands: number('total_commands_processed'), clients: number('connected_clients') };
  }

  /** What the processes of a role hold after all this. */
  async describe(role) {
    this.letWork(role);
    const metrics = await Promise.all(
      this.processes[role].map(async ({ url }) => await (await fetch(`${url}/metrics`)).text()),
    );
    const connections = metrics.map((text) => Number(/^database_connections(?:\{.*\})? (\d+)$/m.exec(text)[1]));
    const memory = this.processes[role].reduce((sum, running) => sum + running.memory(), 0) / this.count / 2 ** 20;
    this.figures[`${role}Connections`] = connections.reduce((sum, one) => sum + one, 0);
    this.figures[`${role}Memory`] = memory;
  }

  async frequent() {
    const rows = await this.stage.sql(
      `SELECT calls::int, round(total_exec_time::numeric / calls, 3) AS ms, regexp_replace(left(query, 150), '\\s+', ' ', 'g') AS query
       FROM pg_stat_statements WHERE query !~ 'pg_stat_statements' ORDER BY calls DESC LIMIT 25`,
    );
    return rows.map(({ calls, ms, query }) => `${calls} × ${ms} ms: ${query}`);
  }
}
