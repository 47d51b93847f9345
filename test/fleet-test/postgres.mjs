import { appendFileSync, chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

import { temporaryHome } from '../../scripts/lib/postgres-home.mjs';
import { initialisePostgres } from '../../scripts/lib/postgres.mjs';
import { run, spawnServer, waitUntil } from '../../scripts/lib/processes.mjs';
import { UserError } from '../../scripts/lib/steps.mjs';
import { SUBNET } from './network.mjs';

const PORT = 5432;
const PASSWORD = 'fleet';
const PROBE_EVERY_MS = 500;
const PROBE_MS = 2000;
/** In a row. */
const FAILED_PROBES = 3;
const START_MS = 30_000;

/** A primary and its standby, which confirms each commit, and a watch that lets the standby take over. */
export class PostgresPair {
  #runAs;
  #binaries;
  #folder;
  #isWatching = true;
  takeovers = 0;

  /** @param {import('./network.mjs').Host[]} hosts @param {() => void} onTakeover called when `primary` has changed */
  static async start(folder, [first, second], onTakeover) {
    const pair = new PostgresPair();
    const home = temporaryHome(folder);
    await initialisePostgres({ home, password: PASSWORD });
    Object.assign(pair, { primary: first, standby: second, onTakeover });
    pair.#runAs = home.runAs;
    pair.#binaries = home.binaries;
    pair.#folder = folder;
    const data = pair.#dataOf(first);
    await copyTree(join(folder, 'postgres'), data);
    appendFileSync(join(data, 'pg_hba.conf'), `host all,replication all ${SUBNET} scram-sha-256\n`);
    pair.#spawn(first);
    await pair.#untilReady(first);
    await pair.query(`ALTER ROLE voice_notes SET statement_timeout = '15s'`);
    await pair.#addStandby();
    pair.watching = pair.#watch();
    return pair;
  }

  get url() {
    return urlOf(this.primary);
  }

  async query(sql, host = this.primary) {
    const client = new pg.Client({ connectionString: urlOf(host), connectionTimeoutMillis: PROBE_MS });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query({ text: sql, query_timeout: START_MS })).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Makes a standby of the host that is out of order since the other has taken over. */
  async repair() {
    if (this.isWhole) return;
    await this.#addStandby();
  }

  async stop() {
    this.#isWatching = false;
    await this.watching;
  }

  /** As repmgr or Patroni do it: the old primary is stopped for good before the standby takes over. */
  async #watch() {
    let failed = 0;
    while (this.#isWatching) {
      await sleep(PROBE_EVERY_MS);
      failed = (await this.#probe()) ? 0 : failed + 1;
      if (failed < FAILED_PROBES || !this.isWhole) continue;
      this.isWhole = false;
      const old = this.primary;
      await old.kill();
      await this.#promote(this.standby);
      [this.primary, this.standby] = [this.standby, old];
      this.takeovers += 1;
      failed = 0;
      this.onTakeover();
    }
  }

  async #probe() {
    const client = new pg.Client({
      connectionString: urlOf(this.primary),
      connectionTimeoutMillis: PROBE_MS,
      query_timeout: PROBE_MS,
    });
    client.on('error', () => undefined);
    const answer = client.connect().then(() => client.query('SELECT 1'));
    const isAnswered = await Promise.race([
      answer.then(
        () => true,
        () => false,
      ),
      sleep(PROBE_MS, false),
    ]);
    client.connection.stream.destroy();
    return isAnswered;
  }

  async #promote(host) {
    await this.query('SELECT pg_promote()', host);
    // Alone, it must not wait for a standby.
    await this.#confirmBy('', host);
  }

  /** A base backup of the primary, on the standby's host. Then commits wait for the standby. */
  async #addStandby() {
    const data = this.#dataOf(this.standby);
    rmSync(data, { recursive: true, force: true });
    const client = new pg.Client({ connectionString: this.url });
    await client.connect();
    await client.query(`SELECT pg_backup_start('standby', true)`);
    await copyTree(this.#dataOf(this.primary), data);
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(false)');
    await client.end();
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(data, name), { force: true });
    const wal = join(data, 'pg_wal');
    for (const name of readdirSync(wal)) rmSync(join(wal, name), { recursive: true, force: true });
    const own = (file, text) => {
      writeFileSync(join(data, file), text, { mode: 0o600 });
      chownSync(join(data, file), this.#runAs.uid, this.#runAs.gid);
    };
    own('backup_label', rows[0].labelfile);
    own('standby.signal', '');
    this.#spawn(this.standby, [`primary_conninfo=${conninfo(this.primary, this.standby)}`]);
    const isStreaming = () =>
      this.query(`SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'`).then(
        ({ length }) => length > 0,
        () => false,
      );
    if (!(await waitUntil(isStreaming, START_MS, 100))) throw new UserError('the standby does not follow');
    await this.#confirmBy('*');
    this.isWhole = true;
  }

  async #confirmBy(names, host = this.primary) {
    await this.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`, host);
    await this.query('SELECT pg_reload_conf()', host);
  }

  #spawn(host, settings = []) {
    const { uid, gid } = this.#runAs;
    const all = [
      `listen_addresses=*`,
      'unix_socket_directories=',
      'max_connections=100',
      'wal_keep_size=512MB',
      'wal_sender_timeout=5s',
      'wal_receiver_timeout=5s',
      'timezone=UTC',
      ...settings,
    ].flatMap((setting) => ['-c', setting]);
    const server = [join(this.#binaries, 'bin/postgres'), '-D', this.#dataOf(host), '-p', `${PORT}`, ...all];
    const [command, ...args] = [
      ...host.within,
      'setpriv',
      `--reuid=${uid}`,
      `--regid=${gid}`,
      '--clear-groups',
      ...server,
    ];
    const logFile = join(this.#folder, `${host.name}.log`);
    spawnServer(command, args, { cwd: '/', logFile, env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' } });
  }

  async #untilReady(host) {
    const isReady = () => this.query('SELECT 1', host).then(Boolean, () => false);
    if (!(await waitUntil(isReady, START_MS, 100))) throw new UserError(`PostgreSQL on ${host.name} did not start`);
  }

  #dataOf(host) {
    return join(this.#folder, `data-${host.name}`);
  }
}

const urlOf = ({ address }) => `postgres://voice_notes:${PASSWORD}@${address}:${PORT}/voice_notes`;

const conninfo = ({ address }, { name }) =>
  `host=${address} port=${PORT} user=voice_notes password=${PASSWORD} application_name=${name} ` +
  'keepalives_idle=2 keepalives_interval=1 keepalives_count=3';

/** `cp -a` keeps the owner. Files of a running server may vanish meanwhile. */
async function copyTree(from, to) {
  mkdirSync(to, { mode: 0o700 });
  await run('cp', ['-a', `${from}/.`, to]);
  if (!existsSync(join(to, 'PG_VERSION'))) throw new UserError(`${from} could not be copied`);
}
