import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import request from 'supertest';
import { AccountService } from '../../../src/modules/account/account.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService, type TestService } from '../../../src/testing/test-service.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { EventStreamClient } from '../../support/http/clients/event-stream.js';
import { freePort } from '../../support/servers/free-port.js';
import { PrivateRedis } from '../../support/servers/private-redis.js';

/** Long enough that nothing but a job leads to a delivery. */
const SETTINGS = { RECONCILE_SECONDS: '600', WEBHOOK_RETRY_SCHEDULE: '1,1' };
const LAST_SLOT = '16383';

const environment = useEnvironment();
const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

/** It has every slot, and refuses a command or a script whose keys lie in several. */
async function clusterOfOneNode(): Promise<{ node: PrivateRedis; connection: Redis }> {
  const folder = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
  undo.push(() => rm(folder, { recursive: true }));
  const node = await PrivateRedis.start({
    'cluster-enabled': 'yes',
    'cluster-config-file': join(folder, 'nodes.conf'),
    'cluster-port': `${await freePort()}`,
  });
  undo.push(() => node.kill());
  const connection = new Redis(node.url);
  undo.push(() => connection.disconnect());
  await connection.call('CLUSTER', 'ADDSLOTSRANGE', '0', LAST_SLOT);
  await eventually(async () => (await connection.cluster('INFO')).includes('cluster_state:ok'));
  await expect(connection.mget('one', 'two')).rejects.toThrow('CROSSSLOT');
  await connection.config('RESETSTAT');
  return { node, connection };
}

async function accountOf(service: TestService): Promise<ApiClient> {
  const client = await service.account();
  // A full bucket has no key: this one needs seconds for each token.
  await service.app.get(AccountService).update(client.accountId, { rateLimit: 10, burstLimit: 5000 });
  return client;
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
    const service = await startService(environment, { ...SETTINGS, REDIS_URL: node.url });
    undo.push(() => service.close());
    const receiver = await WebhookReceiver.listen();
    undo.push(() => receiver.close());
    // The second attempt needs a delayed job.
    receiver.answerNext({ status: 500 });
    const client = await accountOf(service);
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const stream = await EventStreamClient.open(client);
    undo.push(() => stream.close());

    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    await receiver.waitFor(({ length }) => length === 2);
    await stream.received('recording.transcribed', body.id);
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
