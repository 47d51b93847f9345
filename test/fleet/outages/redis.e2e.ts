import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { EventStreamClient } from '../../support/http/clients/event-stream.js';
import { freePort } from '../../support/servers/free-port.js';
import { PrivateRedis } from '../../support/servers/private-redis.js';
import { TcpProxy } from '../../support/servers/tcp-proxy.js';
import { rowOf, useFleet } from '../../support/service/fleet.js';

const fleet = useFleet();

async function accountOf(service: TestService): Promise<ApiClient> {
  const client = await service.account();
  // A full bucket has no key: this one needs seconds for each token, not the plan's 60 ms, so that its key can be seen.
  await service.app.get(AccountService).update(client.accountId, { rateLimit: 10, burstLimit: 5000 });
  return client;
}

async function replicated(): Promise<{ primary: PrivateRedis; replica: PrivateRedis; connection: Redis }> {
  const primary = await fleet.privateRedis();
  const replica = await fleet.privateRedis(PrivateRedis.replicaOf(primary));
  const connection = fleet.redis(replica.url);
  await eventually(async () => (await connection.info('replication')).includes('master_link_status:up'));
  return { primary, replica, connection };
}

/** Whether limits and jobs are written to this server. */
async function isWrittenTo(connection: Redis, client: ApiClient): Promise<boolean> {
  await client.upload(silenceWav(0.1)).expect(201);
  const keys = await connection.keys('*');
  return keys.some((key) => key.includes(client.accountId)) && keys.some((key) => key.startsWith('{bull}:'));
}

async function expectTranscribed(client: ApiClient): Promise<string> {
  const { body } = await client.upload(silenceWav(0.1)).expect(201);
  expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
  return body.id as string;
}

describe('a Redis that becomes a replica', () => {
  it('is left for the primary behind the same address, without a restart of the service', async () => {
    const { primary, replica, connection } = await replicated();
    const proxy = await TcpProxy.to(primary.url);
    fleet.defer(() => proxy.close());
    const client = await accountOf(await fleet.service('api,worker', { REDIS_URL: proxy.url }));
    await client.get('/v1/account').expect(200);

    proxy.redirect(replica.url);
    await connection.replicaof('NO', 'ONE');
    await connection.flushall();
    const [host, port] = replica.address.split(':') as [string, string];
    await fleet.redis(primary.url).replicaof(host, port);
    await eventually(() => isWrittenTo(connection, client));
    await expectTranscribed(client);
  });
});

describe('with REDIS_SENTINELS', () => {
  it.each(['SIGKILL', 'SIGSTOP'] as const)('follows a fail-over after %s of the primary', async (signal) => {
    const { primary, connection } = await replicated();
    const sentinel = await fleet.privateRedis(PrivateRedis.sentinelOf(primary));
    const variables = { REDIS_URL: 'redis://unused.invalid', REDIS_SENTINELS: sentinel.address };
    const client = await accountOf(await fleet.service('api,worker', variables));
    const first = fleet.redis(primary.url);
    await eventually(() => isWrittenTo(first, client));
    const monitor = fleet.redis(sentinel.url);
    await eventually(async () => ((await monitor.call('SENTINEL', 'REPLICAS', 'mymaster')) as unknown[]).length === 1);

    first.disconnect();
    primary.signal(signal);
    await eventually(async () => (await connection.info('replication')).includes('role:master'));
    await connection.flushall();
    await eventually(() => isWrittenTo(connection, client));
    await expectTranscribed(client);
  });
});

describe('a Redis that answers and takes no writes', () => {
  it('counts as unavailable: deliveries are sent without it, and readiness says so', async () => {
    const redis = await fleet.privateRedis();
    const service = await fleet.service('api,worker', { REDIS_URL: redis.url, RECONCILE_SECONDS: '5' });
    const receiver = await fleet.receiver();
    const client = await service.account();
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const health = async () => (await request(service.url).get('/health/ready')).body.status as string;
    await eventually(async () => (await health()) === 'ok');

    const connection = fleet.redis(redis.url);
    // Full, with the policy that the queues need.
    await connection.config('SET', 'maxmemory-policy', 'noeviction');
    await connection.config('SET', 'maxmemory', '1');
    await expect(connection.set('key', 'value')).rejects.toThrow('OOM');
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    // No request that follows may find Redis unusable for the deliverer.
    await eventually(async () => (await rowOf(service, body.id)).status === 'transcribed');
    await receiver.waitFor(({ length }) => length === 1);
    expect(await health()).toBe('degraded');

    await connection.config('SET', 'maxmemory', '0');
    await eventually(async () => (await health()) === 'ok');
  });
});

/** Long enough that nothing but a job leads to a delivery. */
const SETTINGS = { RECONCILE_SECONDS: '600', WEBHOOK_RETRY_SCHEDULE: '1,1' };
const LAST_SLOT = '16383';

/** It has every slot, and refuses a command or a script whose keys lie in several. */
async function clusterOfOneNode(): Promise<{ node: PrivateRedis; connection: Redis }> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
  fleet.defer(() => rm(folder, { recursive: true }));
  const settings = {
    'cluster-enabled': 'yes',
    'cluster-config-file': join(folder, 'nodes.conf'),
    'cluster-port': `${await freePort()}`,
  };
  const node = await fleet.privateRedis(PrivateRedis.start(settings));
  const connection = fleet.redis(node.url);
  await connection.call('CLUSTER', 'ADDSLOTSRANGE', '0', LAST_SLOT);
  await eventually(async () => (await connection.cluster('INFO')).includes('cluster_state:ok'));
  await expect(connection.mget('one', 'two')).rejects.toThrow('CROSSSLOT');
  await connection.config('RESETSTAT');
  return { node, connection };
}

/** A section of INFO with lines such as `errorstat_ERR:count=1`. */
async function statistics(connection: Redis, section: 'commandstats' | 'errorstats'): Promise<Map<string, string>> {
  const lines = (await connection.info(section)).split('\r\n').filter((line) => line.includes('stat_'));
  return new Map(lines.map((line) => line.replace(/^.*stat_/, '').split(':', 2) as [string, string]));
}

const countIn = (text: string | undefined, name: string): number =>
  Number(new RegExp(`\\b${name}=(\\d+)`).exec(text ?? '')?.[1] ?? 0);

describe('Redis Cluster behind one address', () => {
  it('limits, starts and signals work as a single server does: no command has keys in two slots', async () => {
    const { node, connection } = await clusterOfOneNode();
    const service = await fleet.service('api,worker', { ...SETTINGS, REDIS_URL: node.url });
    const receiver = await fleet.receiver();
    // The second attempt needs a delayed job.
    receiver.answerNext({ status: 500 });
    const client = await accountOf(service);
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const stream = await EventStreamClient.open(client);
    fleet.defer(() => stream.close());

    const id = await expectTranscribed(client);
    await receiver.waitFor(({ length }) => length === 2);
    await stream.received('recording.transcribed', id);
    const { body: made } = await client.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
    const asEndUser = request(service.url).get('/v1/recordings').set('Authorization', `Bearer ${made.token}`);
    await asEndUser.expect('X-RateLimit-Remaining', /\d/);

    const keys = await connection.keys('*');
    for (const prefix of [
      `rate-limit:account:${client.accountId}`,
      `rate-limit:access-tokens:{${client.accountId}}:`,
    ]) {
      expect(keys.filter((key) => key.startsWith(prefix))).toHaveLength(1);
    }
    const ofQueues = keys.filter((key) => key.includes('bull'));
    const slots = await Promise.all(ofQueues.map((key) => connection.cluster('KEYSLOT', key)));
    expect(ofQueues.length).toBeGreaterThan(2);
    expect(new Set(slots).size).toBe(1);
    await service.close();
    const commands = await statistics(connection, 'commandstats');
    expect([...commands.keys()]).toEqual(expect.arrayContaining(['brpoplpush', 'evalsha', 'publish', 'subscribe']));
    const errors = await statistics(connection, 'errorstats');
    // ERR is the answer of servers before 7.2 to the CLIENT SETINFO of a new connection, and of scripts.
    expect([...errors.keys()].filter((name) => !['NOSCRIPT', 'ERR'].includes(name))).toEqual([]);
    // A script that is not known yet is sent whole.
    expect(countIn(commands.get('evalsha'), 'failed_calls')).toBe(countIn(errors.get('NOSCRIPT'), 'count'));
    expect(countIn(commands.get('eval'), 'failed_calls')).toBe(0);
  });
});
