import { RedisService } from '../../../src/platform/redis/redis.service.js';
import { eventually } from '../../../src/testing/eventually.js';
import { startService, useService } from '../../../src/testing/test-service.js';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.js';
import { failRecordings } from '../../support/state/recording-events.js';

const api = useService({ ROLES: 'api' });
let receiver: WebhookReceiver;

beforeAll(async () => {
  receiver = await WebhookReceiver.listen();
});
afterAll(() => receiver.close());

describe('while nobody sends webhooks', () => {
  it('events leave a constant number of keys in Redis, and a deliverer that starts later sends all', async () => {
    const client = await api.account();
    const hook = { url: receiver.url(), events: ['recording.failed'] };
    const { body: webhook } = await client.post('/v1/webhooks', hook).expect(201);
    const jobs = async (): Promise<number> =>
      (await api.app.get(RedisService).client.keys(`{bull}:deliveries:${webhook.id}-*`)).length;
    await failRecordings(api, client.accountId, 100);
    // One for each window of five minutes that the test took.
    await eventually(async () => (await jobs()) >= 1);
    expect(await jobs()).toBeLessThanOrEqual(2);

    await startService(api.environment, { ROLES: 'deliverer', RECONCILE_SECONDS: '1' });
    await eventually(async () => {
      const [left] = await api.database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM deliveries WHERE webhook_id = $1 AND status <> 'delivered'`,
        [webhook.id],
      );
      return left?.count === 0;
    }, 120_000);
    expect(await jobs()).toBe(0);
  });
});
