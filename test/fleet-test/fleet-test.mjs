/**
 * Runs a fleet on hosts of its own, each a network namespace, and breaks one of each in turn under load:
 *   npm run fleet-test -- [--redis sentinel|cluster] [--only NAME]     # as root, on Linux
 * NAME is a target (api, transcriber, deliverer, postgres, pgbouncer, redis, sentinel, haproxy, s3, receiver), a fault
 * (killed, frozen, slowed, cut off), or both ("api frozen"). docs/reliability.md shows a run and says what it means.
 *
 * Three API processes behind HAProxy, two transcribers, two deliverers; PgBouncer in front of a Postgres with a standby
 * that confirms each commit and takes over; Redis with a replica and three sentinels, or a cluster of six; s3rver.
 * Clients read, and upload with an Idempotency-Key. Load, receivers and checker are those of the chaos test.
 */
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { migrate, runCli } from '../../scripts/lib/application.mjs';
import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { readFileIfAny } from '../../scripts/lib/files.mjs';
import { DATA, ROOT } from '../../scripts/lib/paths.mjs';
import { temporaryParent } from '../../scripts/lib/postgres-home.mjs';
import { waitUntil } from '../../scripts/lib/processes.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { step, UserError } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages, installFleetPackages } from '../../scripts/lib/system-packages.mjs';
import { check, countOpen, filesBelow, none, recordHistory, untilSettled, withDatabase } from '../chaos/checker.mjs';
import { Client, orNull } from '../chaos/clients.mjs';
import { areReady, Member } from '../chaos/fleet.mjs';
import { runAndUndo } from '../upgrade/setup.mjs';
import { findNetem, Network, SUBNET } from './network.mjs';
import { PostgresPair } from './postgres.mjs';
import {
  allUpUrl,
  bouncerAddress,
  BUCKET,
  frontUrl,
  installS3,
  PRIMARY_NAME,
  receiverUrl,
  redisAddress,
  s3Url,
  sentinelAddress,
  Servers,
} from './servers.mjs';
import { tableOf } from './table.mjs';

const FAULTS = ['killed', 'frozen', 'slowed', 'cut off'];
const TARGETS = [
  'api',
  'transcriber',
  'deliverer',
  'postgres',
  'pgbouncer',
  'redis',
  'sentinel',
  'haproxy',
  's3',
  'receiver',
];
/** A supervisor starts what was killed after that long. */
const DOWN_MS = 3000;
const FAULT_MS = 8000;
/** After the fault, so that what it causes later is seen beside it. */
const AFTER_MS = 4000;
const WHOLE_MS = 90_000;
const READERS = 3;
const READ_EVERY_MS = 150;
const UPLOAD_EVERY_MS = 2000;
/** Answers of HAProxy and of the service that say "later". */
const LATER = [502, 503, 504];
const REPEAT_MS = 120_000;
const STOP_MS = 30_000;
const READS = ['/v1/recordings', '/v1/recordings?status=transcribed', '/v1/account/usage', '/v1/events', '/v1/account'];
const SPEECH = join(ROOT, 'test/fixtures/speech');
const NOTES = /^go-forward-ten-meters\.(?:mp3|ogg|wav|webm)$/;

const { values } = parseArgs({
  options: { redis: { type: 'string', default: 'sentinel' }, only: { type: 'string', default: '' } },
});
const undo = [];

class FleetTest {
  attempts = [];
  uploads = [];
  phases = [];
  members = [];
  unexpected = [];
  /** Faults after which the fleet was not whole again. */
  unrecovered = [];
  #deadline = Infinity;
  #isLoading = true;
  #hosts = new Map();

  constructor(folder, s3Program, isCluster) {
    Object.assign(this, { folder, isCluster });
    this.servers = new Servers(folder, s3Program);
  }

  async start() {
    const network = Network.create(undo);
    const names = [
      ...['haproxy', 'api1', 'api2', 'api3', 'transcriber1', 'transcriber2', 'deliverer1', 'deliverer2'],
      ...['pgbouncer', 'pg1', 'pg2', 's3', 'receiver', 'redis1', 'redis2'],
      ...(this.isCluster ? ['redis3', 'redis4', 'redis5', 'redis6'] : ['sentinel1', 'sentinel2', 'sentinel3']),
    ];
    for (const name of names) this.#hosts.set(name, network.host(name));
    const slowness = findNetem(this.host('receiver'));
    await this.#startServers();
    await this.#startService();
    return `${names.length} hosts; slowed by ${slowness}`;
  }

  host(name) {
    return this.#hosts.get(name);
  }

  async #startServers() {
    const { servers } = this;
    this.postgres = await PostgresPair.start(this.folder, [this.host('pg1'), this.host('pg2')], () => {
      servers.writeBouncer(this.postgres.primary);
      this.host('pgbouncer').signal('SIGHUP');
    });
    undo.push(() => this.postgres.stop());
    servers.bouncer(this.host('pgbouncer'), this.postgres.primary);
    servers.s3(this.host('s3'));
    servers.receiver(this.host('receiver'));
    if (this.isCluster) {
      await servers.cluster([1, 2, 3, 4, 5, 6].map((number) => this.host(`redis${number}`)));
      return;
    }
    servers.redis(this.host('redis1'));
    await servers.untilRedis(this.host('redis1'));
    servers.redis(this.host('redis2'), this.host('redis1'));
    for (const number of [1, 2, 3]) servers.sentinel(this.host(`sentinel${number}`), this.host('redis1'));
  }

  async #startService() {
    const direct = { ...cleanEnvironment(), ...this.#settings() };
    await migrate(direct);
    await this.#withDatabase(recordHistory);
    const url = new URL(this.postgres.url);
    url.host = bouncerAddress(this.host('pgbouncer'));
    const pooled = {
      ...direct,
      DATABASE_URL: url.href,
      DATABASE_POOLER: 'true',
      DATABASE_PREPARED_STATEMENTS: 'false',
    };
    const roles = { api: 3, transcriber: 2, deliverer: 2 };
    for (const [role, count] of Object.entries(roles)) {
      for (let number = 1; number <= count; number++) await this.#startMember(`${role}${number}`, role, pooled);
    }
    if (!(await waitUntil(() => areReady(this.members), WHOLE_MS, 200)))
      throw new UserError('the service did not become ready');
    this.apis = this.members.slice(0, roles.api).map(({ name, url: at }) => ({ host: this.host(name), url: at }));
    this.servers.front(this.host('haproxy'), this.apis);
    await this.#open(direct);
  }

  #settings() {
    const redis = this.isCluster
      ? { REDIS_URL: `redis://${redisAddress(this.host('redis1'))}` }
      : {
          REDIS_URL: `redis://${redisAddress(this.host('redis1'))}`,
          REDIS_SENTINELS: [1, 2, 3].map((number) => sentinelAddress(this.host(`sentinel${number}`))).join(),
          REDIS_SENTINEL_NAME: PRIMARY_NAME,
        };
    return {
      ...redis,
      NODE_ENV: 'test',
      HOST: '0.0.0.0',
      DATABASE_URL: this.postgres.url,
      SECRET_KEY: randomBytes(32).toString('hex'),
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: s3Url(this.host('s3')),
      S3_BUCKET: BUCKET,
      S3_ACCESS_KEY_ID: 'S3RVER',
      S3_SECRET_ACCESS_KEY: 'S3RVER',
      LEASE_SECONDS: '5',
      RECONCILE_SECONDS: '1',
      WEBHOOK_RETRY_SCHEDULE: Array.from({ length: 40 }, () => '1').join(),
      WEBHOOK_ALLOWED_CIDRS: SUBNET,
      TRUST_PROXY: SUBNET,
      ADDRESS_RATE_LIMIT: '100000/100000',
      TRANSCRIPTION_ENGINE: 'pocketsphinx',
      CONSOLE: 'off',
      LOG_LEVEL: 'warn',
    };
  }

  async #startMember(name, roles, env) {
    const { within, address } = this.host(name);
    const own = { ...env, STORAGE_DIR: this.#storageOf(name) };
    const member = await Member.create(name, roles, { env: own, folder: this.folder, root: ROOT, address, within });
    undo.push(() => member.stop(STOP_MS));
    this.members.push(member);
  }

  #storageOf(name) {
    return join(this.folder, `storage-${name}`);
  }

  async #open(direct) {
    const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
    const args = ['account:create', '--name', 'Fleet', '--email', 'fleet@example.com', ...limits];
    const made = await runCli(args, direct);
    const front = frontUrl(this.host('haproxy'));
    const client = new Client(
      () => front,
      { key: made.api_key, secret: made.api_secret },
      () => this.#deadline,
      { later: LATER, onAttempt: (attempt) => this.attempts.push(attempt) },
    );
    this.account = { id: made.account.id, client };
    const events = ['recording.transcribed', 'recording.failed'];
    const { body } = await client.post('/v1/webhooks', { url: receiverUrl(this.host('receiver'), 'events'), events });
    this.webhooks = [{ name: 'events', account: 0, secret: body.secret }];
  }

  load() {
    const files = readdirSync(SPEECH).filter((name) => NOTES.test(name));
    this.files = files.map((name) => ({ name, bytes: readFileSync(join(SPEECH, name)) }));
    const loops = [...Array.from({ length: READERS }, (_, i) => this.#read(i)), this.#uploadAll()];
    return async () => {
      this.#isLoading = false;
      this.#deadline = Date.now() + REPEAT_MS;
      await Promise.all(loops);
    };
  }

  async #read(first) {
    for (let i = first; this.#isLoading; i++) {
      await orNull(this.unexpected, () => this.account.client.get(READS[i % READS.length]));
      await sleep(READ_EVERY_MS);
    }
  }

  async #uploadAll() {
    const all = [];
    while (this.#isLoading) {
      all.push(this.#upload(all.length));
      await sleep(UPLOAD_EVERY_MS);
    }
    await Promise.all(all);
  }

  async #upload(i) {
    const name = `upload-${i}`;
    const upload = { account: 0, name, file: i % this.files.length, id: null, attempts: 0, isDeleted: false };
    Object.assign(upload, { at: Date.now(), answeredAt: null, toldAt: null });
    this.uploads.push(upload);
    const made = await orNull(this.unexpected, () =>
      this.account.client.upload({ name, file: this.files[upload.file], slow: false }),
    );
    if (made) Object.assign(upload, made, { answeredAt: Date.now() });
  }

  /** @returns {Promise<string>} what there was to see meanwhile */
  async breakOne(target, fault) {
    const name = await this.#victim(target);
    const from = Date.now();
    await this.#inject(name, fault);
    const lastedMs = Date.now() - from;
    await sleep(AFTER_MS);
    const isWhole = await waitUntil(() => this.#isWhole(), WHOLE_MS, 250);
    this.phases.push({ name: `${target} ${fault}`, from, until: Date.now(), lastedMs });
    if (!isWhole) this.unrecovered.push(`${name} ${fault}`);
    const seen = this.attempts.filter(({ at }) => at >= from);
    return `${name}: ${seen.length} requests, ${seen.filter(({ status }) => status === null || status >= 400).length} failed`;
  }

  async #victim(target) {
    if (target === 'postgres') return this.postgres.primary.name;
    if (target === 'redis') return await this.#redisPrimary();
    return this.#hosts.has(target) ? target : `${target}1`;
  }

  /** In a cluster the node that the service knows. */
  async #redisPrimary() {
    if (this.isCluster) return 'redis1';
    const address = await this.servers.primaryBy(this.host('sentinel2'));
    return ['redis1', 'redis2'].find((name) => this.host(name).address === address);
  }

  async #inject(name, fault) {
    const host = this.host(name);
    if (fault === 'killed') {
      await this.#kill(name);
      return;
    }
    if (fault === 'frozen') host.freeze();
    if (fault === 'slowed') host.slow();
    if (fault === 'cut off') host.cut();
    await sleep(FAULT_MS);
    host.thaw();
    host.mend();
  }

  /** A process of the service has a supervisor of its own. */
  async #kill(name) {
    const member = this.members.find((each) => each.name === name);
    if (member) {
      member.signal('SIGKILL');
      return;
    }
    await this.host(name).kill();
    await sleep(DOWN_MS);
    this.#startAgain(name);
  }

  #startAgain(name) {
    const host = this.host(name);
    const { servers } = this;
    const kind = name.replace(/\d$/, '');
    const start = {
      // The watch starts it as a standby.
      pg: () => undefined,
      pgbouncer: () => servers.bouncer(host, this.postgres.primary),
      haproxy: () => servers.front(host, this.apis),
      s3: () => servers.s3(host),
      receiver: () => servers.receiver(host),
      redis: () => (this.isCluster ? servers.clusterNode(host) : servers.redis(host)),
      sentinel: () => servers.sentinel(host, this.host('redis1')),
    };
    // "s3" ends in a digit of its own.
    (start[name] ?? start[kind])();
  }

  async #isWhole() {
    await this.postgres.repair();
    const front = await fetch(allUpUrl(this.host('haproxy'))).then(
      ({ ok }) => ok,
      () => false,
    );
    return front && (await areReady(this.members)) && (await this.#isRedisWhole().catch(() => false));
  }

  async #isRedisWhole() {
    if (this.isCluster) {
      const info = await this.servers.askRedis(this.host('redis1'), (redis) => redis.cluster('INFO'));
      return info.includes('cluster_state:ok');
    }
    const primary = this.host(await this.#redisPrimary());
    const info = await this.servers.askRedis(primary, (redis) => redis.info('replication'));
    return /state=online/.test(info);
  }

  async settle() {
    await this.#withDatabase((database) => database.query('UPDATE object_removals SET remove_after = now()'));
    const open = () =>
      this.#withDatabase(async (database) => ({ ...(await countOpen(database)), files: this.#spooled().length }));
    return await untilSettled(open);
  }

  #spooled() {
    return this.members.flatMap(({ name }) => {
      const folder = join(this.#storageOf(name), 'spool');
      return existsSync(folder) ? filesBelow(folder) : [];
    });
  }

  async check() {
    this.#deadline = Date.now() + REPEAT_MS;
    const arrivals = this.#arrivals();
    for (const { noted, acknowledged, body } of arrivals) {
      const upload = acknowledged && this.uploads.find(({ id }) => id === JSON.parse(body.toString()).recording.id);
      if (upload) upload.toldAt ??= noted;
    }
    const bucket = join(this.folder, 's3', BUCKET);
    const suffix = '._S3rver_object';
    const findings = await this.#withDatabase((database) =>
      check({
        accounts: [this.account],
        uploads: this.uploads,
        webhooks: this.webhooks,
        arrivals,
        database,
        objects: filesBelow(bucket)
          .filter((key) => key.endsWith(suffix))
          .map((key) => key.slice(0, -suffix.length)),
        spooled: this.#spooled(),
        repeat: async ({ name, file }) =>
          (await this.account.client.upload({ name, file: this.files[file] }))?.id ?? null,
      }),
    );
    return { arrivals, findings };
  }

  /** The last line of each arrival says whether it was acknowledged. */
  #arrivals() {
    const lines = (readFileIfAny(join(this.folder, 'arrivals.jsonl')) ?? '').split('\n').filter(Boolean);
    const arrivals = new Map(lines.map((line) => JSON.parse(line)).map((arrival) => [arrival.key, arrival]));
    return [...arrivals.values()].map((arrival) => ({ ...arrival, body: Buffer.from(arrival.body) }));
  }

  async stop() {
    const codes = await Promise.all(this.members.map((member) => member.stop(STOP_MS)));
    return [
      none('processes that ended unasked', this.members.flatMap(({ crashes }) => crashes).length),
      none('processes that did not stop in order', codes.filter((code) => code !== 0).length),
    ];
  }

  keepLogs() {
    const folder = join(DATA, 'fleet-test');
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(this.folder).filter((file) => /\.(?:log|jsonl)$/.test(file)))
      copyFileSync(join(this.folder, name), join(folder, name));
    console.log(`\nThe logs are in ${relative(ROOT, folder)}.`);
  }

  #withDatabase(work) {
    return withDatabase(this.postgres.url, work);
  }
}

/** @returns {[string, string][]} @throws UserError when `only` names nothing */
function planOf(only, isCluster) {
  const targets = TARGETS.filter((target) => !isCluster || target !== 'sentinel');
  const all = targets.flatMap((target) => FAULTS.map((fault) => [target, fault]));
  const plan = all.filter(([target, fault]) => [target, fault, `${target} ${fault}`, ''].includes(only.trim()));
  if (plan.length > 0) return plan;
  throw new UserError(`--only takes a target (${targets.join(', ')}), a fault (${FAULTS.join(', ')}), or both`);
}

async function main() {
  if (!['sentinel', 'cluster'].includes(values.redis)) throw new UserError('--redis takes sentinel or cluster');
  const isCluster = values.redis === 'cluster';
  const plan = planOf(values.only, isCluster);
  await ensureSystemPackages(cleanEnvironment());
  await installFleetPackages();
  await prepareProject();
  const s3Program = await step('S3 server', () => installS3());
  const folder = mkdtempSync(join(temporaryParent(), 'voice-notes-fleet-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const test = new FleetTest(folder, s3Program, isCluster);
  let isGood = false;
  undo.push(() => isGood || test.keepLogs());
  await step('Fleet', () => test.start());
  const endLoad = test.load();
  await sleep(AFTER_MS);
  for (const [target, fault] of plan) await step(`${target} ${fault}`.padEnd(20), () => test.breakOne(target, fault));
  await step('Load', endLoad);
  const settled = await step('Settling', () => test.settle());
  const { findings, arrivals } = await step('Checks', () => test.check());
  const stopped = await step('Stopping', () => test.stop());
  // Deliveries are at least once: the same event, with the same id, may come again.
  const isRepeat = ({ what }) => what.startsWith('sent again');
  const all = [
    ...findings.filter((finding) => !isRepeat(finding)),
    settled,
    none('unexpected answers', test.unexpected.length),
    none('faults after which the fleet was not whole again', test.unrecovered.length),
    ...stopped,
  ];
  console.log(`\n${tableOf(test)}\n`);
  console.log(
    `  delivery attempts ${arrivals.length}, sent again after the receiver had answered ${findings.find(isRepeat).found}`,
  );
  console.log(`  takeovers of Postgres ${test.postgres.takeovers}`);
  for (const { what, found, ok } of all) console.log(`  ${ok ? ' ' : '!'} ${what.padEnd(64)}${found}`);
  for (const message of [...test.unrecovered, ...test.unexpected.slice(0, 5)]) console.log(message);
  isGood = all.every(({ ok }) => ok);
  return isGood;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void endAtOnce());

async function endAtOnce() {
  for (const end of undo.toReversed()) await end();
  process.exit(130);
}

await runAndUndo(main, undo);
