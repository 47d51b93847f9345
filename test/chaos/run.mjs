import { randomBytes } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { migrate, runCli } from '../../scripts/lib/application.mjs';
import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { DATA, ROOT } from '../../scripts/lib/paths.mjs';
import { waitUntil } from '../../scripts/lib/processes.mjs';
import { step } from '../../scripts/lib/steps.mjs';
import { startTemporaryServices } from '../../scripts/lib/temporary-services.mjs';
import { FakeS3 } from '../support/servers/fake-s3.mjs';
import { check, countOpen, filesBelow, none, recordHistory, untilSettled, withDatabase } from './checker.mjs';
import { Client, orNull } from './clients.mjs';
import { Faults } from './faults.mjs';
import { areReady, leftovers, Member } from './fleet.mjs';
import { makePlan, randomFrom } from './plan.mjs';
import { Receivers } from './receivers.mjs';

const ACCOUNTS = 3;
const WEBHOOKS = 3;
/** Clients repeat what was not answered until then, after the load. */
const REPEAT_MS = 150_000;
/** A process ends by itself after 10 s. */
const STOP_MS = 30_000;
const SPEECH = join(ROOT, 'test/fixtures/speech');
const SHIFTED_CLOCK = join(ROOT, 'test/support/service/shifted-clock.mjs');
/** Short and clear, in all four formats. */
const NOTES = /^(go-forward-ten-meters|ss-0880)\./;

/** Shortened waits, by configuration only; at least 20 attempts for each delivery. */
const SETTINGS = {
  NODE_ENV: 'test',
  HOST: '127.0.0.1',
  LEASE_SECONDS: '5',
  RECONCILE_SECONDS: '1',
  // Longer than the 16 s after which a request gives up a frozen Postgres with 503.
  UPLOAD_TIMEOUT_SECONDS: '20',
  WEBHOOK_RETRY_SCHEDULE: Array.from({ length: 24 }, () => '1').join(),
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  ADDRESS_RATE_LIMIT: '100000/100000',
  TRANSCRIPTION_ENGINE: 'pocketsphinx',
  LOG_LEVEL: 'warn',
};

/** One trial: a fleet, its load, its faults, and what came of it. */
export class Run {
  uploads = [];
  accounts = [];
  webhooks = [];
  /** Answers that no client can expect. */
  unexpected = [];
  /** Where audio is stored, or null for the disk. */
  s3 = null;
  #deadline = Infinity;

  /** @returns {Promise<{ findings: import('./checker.mjs').Finding[], figures: { what: string, found: string }[] }>} */
  static async perform(options) {
    const services = await startTemporaryServices({ durable: true });
    const run = new Run(options, services);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      process.once(
        signal,
        () =>
          void run.#end()
            .then(services.stop)
            .finally(() => process.exit(130)),
      );
    }
    try {
      const result = await run.#perform();
      if (!result.findings.every(({ ok }) => ok)) run.#keepLogs();
      return result;
    } finally {
      await run.#end();
      await services.stop();
    }
  }

  /** @param options root: the folder whose build is run */
  constructor({ seed, size, onS3, root = ROOT }, services) {
    Object.assign(this, { seed, size, services, onS3, root });
    this.storage = join(services.folder, 'storage');
    this.env = {
      ...cleanEnvironment(),
      ...SETTINGS,
      ...services.env,
      SECRET_KEY: randomBytes(32).toString('hex'),
      STORAGE_DIR: this.storage,
    };
    this.members = [];
    this.files = readdirSync(SPEECH)
      .filter((name) => NOTES.test(name))
      .toSorted()
      .map((name) => ({ name, bytes: readFileSync(join(SPEECH, name)) }));
    this.plan = makePlan(size, { seed, accounts: ACCOUNTS, files: this.files.length });
    this.random = randomFrom(`run ${seed}`);
  }

  async #perform() {
    console.log(`Seed ${this.seed}: ${this.plan.uploads.length} uploads, ${this.plan.faults.length} faults\n`);
    await step('Fleet', () => this.#start());
    const before = this.#memory();
    await step('Load and faults', () => this.#load());
    const settled = await step('Settling', () => this.#settle());
    const after = this.#memory();
    const findings = await step('Checks', () => this.#check());
    const stopped = await step('Stopping', () => this.#stop());
    const unexpected = none('unexpected answers', this.unexpected.length);
    return { findings: [...findings, unexpected, settled, ...stopped], figures: this.#figures(before, after) };
  }

  async #start() {
    if (this.onS3) await this.#useS3();
    await migrate(this.env);
    this.receivers = await new Receivers(this.seed, this.size.hangSeconds).listen();
    await this.#withDatabase(recordHistory);
    const { folder } = this.services;
    for (const [name, roles] of [
      ['api-1', 'api'],
      ['api-2', 'api'],
      ['worker-1', 'worker'],
      ['worker-2', 'worker'],
    ]) {
      const env = { ...this.env, ...this.#clockOf(name) };
      this.members.push(await Member.create(name, roles, { env, folder, root: this.root }));
    }
    await waitUntil(() => areReady(this.members), 60_000);
    for (let i = 0; i < ACCOUNTS; i++) await this.#open(i);
    return `${this.members.length} processes, ${ACCOUNTS} accounts with ${WEBHOOKS} webhooks each`;
  }

  async #useS3() {
    this.s3 = await FakeS3.start();
    Object.assign(this.env, {
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: this.s3.url,
      S3_BUCKET: this.s3.bucket,
      S3_ACCESS_KEY_ID: 'key',
      S3_SECRET_ACCESS_KEY: 'secret',
    });
  }

  /** Environment of a process whose clock differs from that of the others. */
  #clockOf(name) {
    const offset = this.size.clocks[name];
    return offset ? { NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, CLOCK_OFFSET_MS: `${offset}` } : {};
  }

  async #open(i) {
    const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
    const args = ['account:create', '--name', `Chaos ${i}`, '--email', `chaos-${i}@example.com`, ...limits];
    const made = await runCli(args, this.env);
    const client = new Client(
      () => this.#anyApi().url,
      { key: made.api_key, secret: made.api_secret },
      () => this.#deadline,
    );
    this.accounts.push({ id: made.account.id, client });
    for (let j = 0; j < WEBHOOKS; j++) {
      const name = `${i}-${j}`;
      const events = ['recording.transcribed', 'recording.failed'];
      const { body } = await client.post('/v1/webhooks', { url: this.receivers.url(name), events });
      this.webhooks.push({ name, account: i, secret: body.secret });
    }
  }

  async #load() {
    const start = Date.now();
    this.startedAt = start;
    const at = (ms) => sleep(Math.max(0, start + ms - Date.now()));
    this.#deadline = start + this.size.loadSeconds * 1000 + REPEAT_MS;
    const uploads = this.plan.uploads.map(async (planned, i) => {
      await at(planned.at);
      await orNull(this.unexpected, () => this.#upload(planned, `upload-${i}`));
    });
    const injector = new Faults(this.services, (kind) => this.#any(kind), this.s3);
    const faults = this.plan.faults.map(async (fault) => {
      await at(fault.at);
      await injector.inject(fault);
    });
    await Promise.all([...uploads, ...faults]);
    return `${this.uploads.filter(({ isDeleted }) => isDeleted).length} recordings deleted`;
  }

  async #upload({ account, file, slow, deleteAfter }, name) {
    const { client } = this.accounts[account];
    const made = await client.upload({ name, file: this.files[file], slow });
    const upload = { account, name, file, id: made?.id ?? null, attempts: made?.attempts ?? 0, isDeleted: false };
    this.uploads.push(upload);
    if (deleteAfter === null || !made) return;
    await sleep(deleteAfter);
    upload.isDeleted = (await client.delete(made.id)) !== null;
  }

  async #settle() {
    // As if an hour had gone by: reservations of uploads that were cut off have run out.
    await this.#withDatabase((database) => database.query('UPDATE object_removals SET remove_after = now()'));
    const open = () =>
      this.#withDatabase(async (database) => {
        await this.#expireLeases(database);
        // Those of a dead process are swept once nothing has been written to them for a while.
        return { ...(await countOpen(database)), files: this.#spooled().length };
      });
    return await untilSettled(open);
  }

  #spooled() {
    return filesBelow(join(this.storage, 'spool'));
  }

  /** Of deliveries whose process died: no attempt takes so long where receivers hang for a short time. */
  async #expireLeases(database) {
    if (this.size.hangSeconds === undefined) return;
    await database.query(`UPDATE deliveries SET lease_until = now() WHERE lease_until < now() + interval '15 seconds'`);
  }

  async #check() {
    this.#deadline = Date.now() + 60_000;
    return await this.#withDatabase((database) =>
      check({
        accounts: this.accounts,
        uploads: this.uploads,
        webhooks: this.webhooks,
        arrivals: this.receivers.log,
        database,
        objects: this.s3 ? [...this.s3.objects.keys()] : filesBelow(join(this.storage, 'objects')),
        spooled: this.#spooled(),
        repeat: async ({ account, name, file }) => {
          const { client } = this.accounts[account];
          const repeated = await orNull(this.unexpected, () =>
            client.upload({ name, file: this.files[file], slow: false }),
          );
          return repeated?.id ?? null;
        },
      }),
    );
  }

  async #stop() {
    const codes = await Promise.all(this.members.map((member) => member.stop(STOP_MS)));
    const crashes = this.members.flatMap((member) => member.crashes);
    await sleep(1000);
    return [
      none('processes that ended unasked', crashes.length),
      none('processes that did not stop in order', codes.filter((code) => code !== 0).length),
      none('processes left behind', leftovers(this.storage, this.root).length),
    ];
  }

  #figures(before, after) {
    const { faults } = this.plan;
    const kinds = [...new Set(faults.map(({ kind }) => kind))];
    const unanswered = this.accounts.reduce((sum, { client }) => sum + client.unanswered, 0);
    const mb = (bytes) => `${Math.round(bytes / 1e6)} MB`;
    return [
      {
        what: 'faults',
        found: kinds.map((kind) => `${kind} ×${faults.filter((fault) => fault.kind === kind).length}`).join(', '),
      },
      { what: 'requests without an answer, repeated', found: `${unanswered}` },
      { what: 'delivery attempts', found: `${this.receivers.log.length}` },
      ...this.members.map(({ name, starts }, i) => ({
        what: `${name}: starts, memory before and after`,
        found: `${starts}, ${mb(before[i])}, ${mb(after[i])}`,
      })),
    ];
  }

  #keepLogs() {
    const folder = join(DATA, 'chaos', this.seed);
    mkdirSync(folder, { recursive: true });
    for (const { name, logFile } of this.members) copyFileSync(logFile, join(folder, `${name}.log`));
    const arrivals = this.receivers.log.map(({ webhook, headers, at, answer, acknowledged }) => {
      const { 'x-service-event-id': event, 'x-service-delivery-attempt': attempt } = headers;
      return { ms: at - this.startedAt, webhook, event, attempt, answer, acknowledged };
    });
    writeFileSync(
      join(folder, 'run.json'),
      JSON.stringify({ faults: this.plan.faults, unexpected: this.unexpected, arrivals }, null, 1),
    );
    console.log(`\nThe logs of the processes are in ${relative(ROOT, folder)}.`);
  }

  async #end() {
    await Promise.all(this.members.map((member) => member.stop(STOP_MS)));
    await this.receivers?.close();
    await this.s3?.stop();
  }

  #memory() {
    return this.members.map((member) => member.memory());
  }

  #withDatabase(work) {
    return withDatabase(this.services.env.DATABASE_URL, work);
  }

  #any(kind) {
    const members = this.members.filter(({ name }) => name.startsWith(kind));
    return members[Math.floor(this.random() * members.length)];
  }

  #anyApi() {
    return this.#any('api');
  }
}
