import { Redis } from 'ioredis';
import { AccountService } from '../../../src/modules/account/account.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService, type TestService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { PrivateRedis } from '../../support/servers/private-redis.js';
import { TcpProxy } from '../../support/servers/tcp-proxy.js';

const environment = useEnvironment();
const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

async function replicated(): Promise<{ primary: PrivateRedis; replica: PrivateRedis; connection: Redis }> {
  const primary = await PrivateRedis.start();
  undo.push(() => primary.kill());
  const replica = await PrivateRedis.replicaOf(primary);
  undo.push(() => replica.kill());
  const connection = new Redis(replica.url);
  undo.push(() => connection.disconnect());
  await eventually(async () => (await connection.info('replication')).includes('master_link_status:up'));
  return { primary, replica, connection };
}

async function start(variables: Record<string, string>): Promise<{ service: TestService; client: ApiClient }> {
  const service = await startService(environment, variables);
  undo.push(() => service.close());
  const client = await service.account();
  // A full bucket has no key: this one needs seconds for each token, not the plan's 60 ms, so that its key can be seen.
  await service.app.get(AccountService).update(client.accountId, { rateLimit: 10, burstLimit: 5000 });
  return { service, client };
}

/** Whether limits and jobs are written to this server. */
async function isWrittenTo(connection: Redis, client: ApiClient): Promise<boolean> {
  await client.upload(silenceWav(0.1)).expect(201);
  const keys = await connection.keys('*');
  return keys.some((key) => key.includes(client.accountId)) && keys.some((key) => key.startsWith('{bull}:'));
}

describe('a Redis that becomes a replica', () => {
  it('is left for the primary behind the same address, without a restart of the service', async () => {
    const { primary, replica, connection } = await replicated();
    const proxy = await TcpProxy.to(primary.url);
    undo.push(() => proxy.close());
    const { client } = await start({ REDIS_URL: proxy.url });
    await client.get('/v1/account').expect(200);

    proxy.redirect(replica.url);
    await connection.replicaof('NO', 'ONE');
    await connection.flushall();
    const old = new Redis(primary.url);
    undo.push(() => old.disconnect());
    const [host, port] = replica.address.split(':') as [string, string];
    await old.replicaof(host, port);
    await eventually(() => isWrittenTo(connection, client));
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
  });
});

describe('with REDIS_SENTINELS', () => {
  it.each(['SIGKILL', 'SIGSTOP'] as const)('follows a fail-over after %s of the primary', async (signal) => {
    const { primary, connection } = await replicated();
    const sentinel = await PrivateRedis.sentinelOf(primary);
    undo.push(() => sentinel.kill());
    const { client } = await start({ REDIS_URL: 'redis://unused.invalid', REDIS_SENTINELS: sentinel.address });
    const first = new Redis(primary.url);
    undo.push(() => first.disconnect());
    await eventually(() => isWrittenTo(first, client));
    const monitor = new Redis(sentinel.url);
    undo.push(() => monitor.disconnect());
    await eventually(async () => ((await monitor.call('SENTINEL', 'REPLICAS', 'mymaster')) as unknown[]).length === 1);

    first.disconnect();
    primary.signal(signal);
    await eventually(async () => (await connection.info('replication')).includes('role:master'));
    await connection.flushall();
    await eventually(() => isWrittenTo(connection, client));
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
  });
});
