import { Module } from '@nestjs/common';
import type { Extension } from '../../src/extension.js';
import { SENDER_OPTIONS } from '../../src/modules/webhooks/sending/webhook-sender.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { SecretsService } from '../../src/platform/secrets.service.js';
import { useService } from '../../src/testing/test-service.js';
import { startStopwatch } from '../support/cpu-wait.js';
import { HostileReceiver } from '../support/servers/hostile-receiver.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { addWebhooks } from '../support/state/filler-rows.js';
import { failRecordings } from '../support/state/recording-events.js';

const ACCOUNTS = 8;
const WEBHOOKS = 50;
const HOST_LIMIT = 128;
const EVENTS = ['recording.failed'];

@Module({
  providers: [{ provide: SENDER_OPTIONS, useValue: { headersMs: 3000 } }],
  exports: [SENDER_OPTIONS],
})
class ShortTimeoutSenderModule {}

const shortTimeouts: Extension = { module: { module: ShortTimeoutSenderModule, global: true } };
const service = useService(
  { WEBHOOK_CONNECTIONS_PER_HOST: `${HOST_LIMIT}`, WEBHOOK_RETRY_SCHEDULE: '1,1,1,1,1,1,1,1,1' },
  { extensions: [shortTimeouts] },
);

const hook = (client: ApiClient, url: string) => client.post('/v1/webhooks', { url, events: EVENTS }).expect(201);

/** Webhooks with a secret of their own, without a request for each. */
async function hooks(client: ApiClient, urls: string[]): Promise<void> {
  const secrets = service.app.get(SecretsService);
  const ids = await addWebhooks(service, client, urls.length);
  await service.database.query(
    `UPDATE webhooks w SET url = given.url, encrypted_secret = given.sealed
     FROM unnest($1::uuid[], $2::text[], $3::text[]) AS given (id, url, sealed) WHERE w.id = given.id`,
    [ids, urls, ids.map((id) => secrets.encrypt(`secret of ${id}`, id))],
  );
}

describe('D34: endpoints that hang', () => {
  it('delay no webhook of another account, and their host has its own limit', async () => {
    let most = 0;
    const hanging = await HostileReceiver.listen(() => {
      most = Math.max(most, hanging.openConnections);
    });
    const receiver = await WebhookReceiver.listen();
    const healthy = await service.account();
    await hook(healthy, receiver.url());
    const attackers = await Promise.all(Array.from({ length: ACCOUNTS }, () => service.account()));
    const urls = Array.from({ length: WEBHOOKS }, (_, i) => `http://127.0.0.1:${hanging.port}/${i}`);
    await Promise.all(attackers.map((client) => hooks(client, urls)));
    await Promise.all(attackers.map(({ accountId }) => failRecordings(service, accountId, 5)));
    await eventually(() => most > 20);

    const waits: number[] = [];
    const endsAt = Date.now() + 6000;
    while (Date.now() < endsAt) {
      const [id] = await failRecordings(service, healthy.accountId, 1);
      const elapsed = startStopwatch();
      const arrived = (await receiver.waitFor(({ length }) => length > waits.length)).at(-1);
      waits.push(Math.round(elapsed()));
      expect(arrived?.body.toString()).toContain(id);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    reportMeasurement(
      `D34: beside ${ACCOUNTS * WEBHOOKS} webhooks that hang the longest of ${waits.length} waits was ` +
        `${Math.max(...waits)} ms; at most ${most} connections to their host`,
    );
    expect(Math.max(...waits)).toBeLessThan(1000);
    expect(most).toBeLessThanOrEqual(HOST_LIMIT);
    await Promise.all([hanging.close(), receiver.close()]);
  });
});
