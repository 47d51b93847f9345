import { Redis } from 'ioredis';
import request from 'supertest';
import { eventually } from '../../../src/testing/eventually.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService } from '../../../src/testing/test-service.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { PrivateRedis } from '../../support/servers/private-redis.js';

const environment = useEnvironment();
const undo: (() => unknown)[] = [];

afterEach(async () => {
  for (const step of undo.splice(0).toReversed()) await step();
});

describe('a Redis that answers and takes no writes', () => {
  it('counts as unavailable: deliveries are sent without it, and readiness says so', async () => {
    const redis = await PrivateRedis.start();
    undo.push(() => redis.kill());
    const service = await startService(environment, { REDIS_URL: redis.url, RECONCILE_SECONDS: '5' });
    undo.push(() => service.close());
    const receiver = await WebhookReceiver.listen();
    undo.push(() => receiver.close());
    const client = await service.account();
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const health = async () => (await request(service.url).get('/health/ready')).body.status as string;
    await eventually(async () => (await health()) === 'ok');

    const connection = new Redis(redis.url);
    undo.push(() => connection.disconnect());
    // Full, with the policy that the queues need.
    await connection.config('SET', 'maxmemory-policy', 'noeviction');
    await connection.config('SET', 'maxmemory', '1');
    await expect(connection.set('key', 'value')).rejects.toThrow('OOM');
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    // No request that follows may find Redis unusable for the deliverer.
    const statusOf = `SELECT 1 FROM recordings WHERE id = $1 AND status = 'transcribed'`;
    await eventually(async () => (await service.database.query(statusOf, [body.id])).length === 1);
    await receiver.waitFor(({ length }) => length === 1);
    expect(await health()).toBe('degraded');

    await connection.config('SET', 'maxmemory', '0');
    await eventually(async () => (await health()) === 'ok');
  });
});
