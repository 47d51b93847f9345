import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';

import { spawnServer, waitUntil } from '../../scripts/lib/processes.mjs';
import { installBinary } from '../../scripts/lib/npm-binary.mjs';
import { findRedisServer } from '../../scripts/lib/redis.mjs';
import { ROOT } from '../../scripts/lib/paths.mjs';
import { UserError } from '../../scripts/lib/steps.mjs';

const START_MS = 20_000;
/** PgBouncer refuses to run as root. */
const AS_NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
export const BUCKET = 'voice-notes';
export const PRIMARY_NAME = 'mymaster';
const RECEIVER_PORT = 8080;
const S3_PORT = 9000;
const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
const BOUNCER_PORT = 6432;
const FRONT_PORT = 8080;

/** HAProxy answers it itself: with 200 while every process gets requests, else with 503. */
const ALL_UP = '/all-up';

export const allUpUrl = (host) => frontUrl(host) + ALL_UP;
export const frontUrl = ({ address }) => `http://${address}:${FRONT_PORT}`;
export const s3Url = ({ address }) => `http://${address}:${S3_PORT}`;
export const receiverUrl = ({ address }, name) => `http://${address}:${RECEIVER_PORT}/${name}`;
export const bouncerAddress = ({ address }) => `${address}:${BOUNCER_PORT}`;
export const redisAddress = ({ address }) => `${address}:${REDIS_PORT}`;
export const sentinelAddress = ({ address }) => `${address}:${SENTINEL_PORT}`;

/**
 * s3rver, kept in the project's data: it is used here alone, and its packages are older than those that the project
 * depends on.
 * @returns {Promise<string>} its program
 */
export async function installS3() {
  const { binary, problem } = await installBinary({ name: 's3rver', version: '3.7.1', path: 'bin/s3rver.js' });
  if (!binary) throw new UserError(problem);
  return binary;
}

/** Starts servers on their hosts, each of which can be started again as it was. */
export class Servers {
  #folder;
  #s3Program;

  constructor(folder, s3Program) {
    this.#folder = folder;
    this.#s3Program = s3Program;
    chmodSync(folder, 0o755);
  }

  /** @param {{ host: import('./network.mjs').Host, url: string }[]} apis */
  front(host, apis) {
    const file = this.#write('haproxy.cfg', frontConfiguration(apis));
    this.#spawn(host, ['haproxy', '-db', '-f', file]);
  }

  bouncer(host, primary) {
    this.writeBouncer(primary);
    this.#spawn(host, [...AS_NOBODY, 'pgbouncer', join(this.#folder, 'pgbouncer.ini')]);
  }

  /** Where the database is; a PgBouncer that runs reads it on SIGHUP. */
  writeBouncer(primary) {
    chmodSync(this.#write('pgbouncer.ini', bouncerConfiguration(primary.address)), 0o644);
  }

  s3(host) {
    const directory = join(this.#folder, 's3');
    mkdirSync(directory, { recursive: true });
    const options = ['-d', directory, '-a', '0.0.0.0', '-p', `${S3_PORT}`, '--silent', '--configure-bucket', BUCKET];
    this.#spawn(host, [process.execPath, this.#s3Program, ...options]);
  }

  receiver(host) {
    const program = join(ROOT, 'test/fleet-test/receiver.mjs');
    this.#spawn(host, [process.execPath, program, join(this.#folder, 'arrivals.jsonl'), `${RECEIVER_PORT}`]);
  }

  /** @param {import('./network.mjs').Host | null} primary that it copies */
  redis(host, primary = null, settings = []) {
    const lines = ['bind 0.0.0.0', `port ${REDIS_PORT}`, 'protected-mode no', 'save ""', 'repl-diskless-sync-delay 0'];
    if (primary) lines.push(`replicaof ${primary.address} ${REDIS_PORT}`);
    this.#redis(host, [...lines, ...settings]);
  }

  sentinel(host, primary) {
    const monitor = `sentinel monitor ${PRIMARY_NAME} ${primary.address} ${REDIS_PORT} 2`;
    const times = { 'down-after-milliseconds': 2000, 'failover-timeout': 6000 };
    const lines = Object.entries(times).map(([name, ms]) => `sentinel ${name} ${PRIMARY_NAME} ${ms}`);
    this.#redis(
      host,
      [`port ${SENTINEL_PORT}`, 'bind 0.0.0.0', 'protected-mode no', monitor, ...lines],
      ['--sentinel'],
    );
  }

  /** @param {import('./network.mjs').Host[]} hosts the first half are primaries, the others their replicas */
  async cluster(hosts) {
    for (const host of hosts) this.clusterNode(host);
    await Promise.all(hosts.map((host) => untilAnswers(host.address, REDIS_PORT)));
    const addresses = hosts.map(redisAddress);
    const command = ['redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']];
    hosts[0].run(...command);
    const isWhole = async () =>
      (await this.askRedis(hosts[0], (redis) => redis.cluster('INFO'))).includes('cluster_state:ok');
    if (!(await waitUntil(isWhole, START_MS, 200))) throw new UserError('Redis Cluster does not become whole');
  }

  clusterNode(host) {
    this.redis(host, null, ['cluster-enabled yes', 'cluster-node-timeout 2000']);
  }

  async askRedis(host, ask, port = REDIS_PORT) {
    const client = new Redis({
      host: host.address,
      port,
      lazyConnect: true,
      connectTimeout: 1000,
      commandTimeout: 1000,
      retryStrategy: () => null,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await ask(client);
    } finally {
      client.disconnect();
    }
  }

  /** The address of the primary, as a sentinel names it. */
  async primaryBy(sentinel) {
    const [address] = await this.askRedis(
      sentinel,
      (redis) => redis.call('SENTINEL', 'get-master-addr-by-name', PRIMARY_NAME),
      SENTINEL_PORT,
    );
    return address;
  }

  untilRedis(host) {
    return untilAnswers(host.address, REDIS_PORT);
  }

  #redis(host, lines, options = []) {
    const folder = join(this.#folder, host.name);
    mkdirSync(folder, { recursive: true });
    // Sentinels and nodes of a cluster write what they learn into their own file.
    const file = join(folder, 'redis.conf');
    if (!this.#known.has(file)) writeFileSync(file, [...lines, `dir ${folder}`, ''].join('\n'));
    this.#known.add(file);
    this.#spawn(host, [findRedisServer(), file, ...options]);
  }

  #known = new Set();

  #write(name, text) {
    const file = join(this.#folder, name);
    writeFileSync(file, text);
    return file;
  }

  #spawn(host, server) {
    const [command, ...args] = [...host.within, ...server];
    const logFile = join(this.#folder, `${host.name}.log`);
    appendFileSync(logFile, '');
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` };
    spawnServer(command, args, { cwd: this.#folder, logFile, env }).on('error', () => undefined);
  }
}

/**
 * A process that fails three checks gets no requests, and those that it holds are given up. When none is ready, as without S3,
 * those that live answer what they can.
 */
export function frontConfiguration(apis) {
  const servers = apis.map(({ host, url }) => `  server ${host.name} ${new URL(url).host} check`).join('\n');
  return `
defaults
  mode http
  balance roundrobin
  timeout connect 2s
  timeout check 2s
  timeout client 60s
  timeout server 30s
  timeout http-keep-alive 60s
  retries 2
  option redispatch 1
  retry-on conn-failure
  http-check expect status 200
  default-server inter 500ms fall 3 rise 1 on-marked-down shutdown-sessions
frontend front
  bind :${FRONT_PORT}
  default_backend api
  monitor-uri ${ALL_UP}
  monitor fail if { nbsrv(api) lt ${apis.length} }
  use_backend live if { nbsrv(api) eq 0 }
backend api
  option httpchk GET /health/ready
${servers}
backend live
  option httpchk GET /health/live
${servers}
`;
}

/** What makes PgBouncer notice within seconds that a database is gone which closes no connection. */
export function bouncerConfiguration(address) {
  return `[databases]
* = host=${address} port=5432 user=voice_notes password='fleet'
[pgbouncer]
listen_addr = *
listen_port = ${BOUNCER_PORT}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 40
max_client_conn = 500
server_connect_timeout = 3
server_login_retry = 1
query_timeout = 20
tcp_keepalive = 1
tcp_keepidle = 2
tcp_keepintvl = 1
tcp_keepcnt = 3
tcp_user_timeout = 5000
`;
}

async function untilAnswers(host, port) {
  const isUp = async () => {
    const client = new Redis({ host, port, lazyConnect: true, connectTimeout: 1000, retryStrategy: () => null });
    client.on('error', () => undefined);
    return await client
      .connect()
      .then(() => client.ping())
      .then(Boolean, () => false)
      .finally(() => client.disconnect());
  };
  if (!(await waitUntil(isUp, START_MS, 100))) throw new UserError(`Redis does not answer at ${host}:${port}`);
}
