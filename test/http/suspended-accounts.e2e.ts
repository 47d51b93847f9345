import { AccountService } from '../../src/modules/account/account.service.js';
import { RecordingLeasesService } from '../../src/modules/recordings/leases/recording-leases.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { startService, useService } from '../../src/testing/test-service.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { failRecordings } from '../support/state/recording-events.js';
import { upload } from '../support/state/recording-states.js';

const service = useService({ ROLES: 'api' });

type Change = Parameters<AccountService['update']>[1];

const change = ({ accountId }: ApiClient, changes: Change) =>
  service.app.get(AccountService).update(accountId, changes);

async function recording(id: string): Promise<{ status: string; attempt: number } | undefined> {
  const [row] = await service.database.query<{ status: string; attempt: number }>(
    'SELECT status, attempt FROM recordings WHERE id = $1',
    [id],
  );
  return row;
}

async function delivery({ accountId }: ApiClient): Promise<{ status: string; attempts: number } | undefined> {
  const [row] = await service.database.query<{ status: string; attempts: number }>(
    'SELECT status, attempts FROM deliveries WHERE account_id = $1',
    [accountId],
  );
  return row;
}

describe('D4: the queue of a suspended account', () => {
  it('waits, loses nothing, holds up nobody, and goes on when the account is active again', async () => {
    const receiver = await WebhookReceiver.listen();
    const [held, finishing, other] = await Promise.all([service.account(), service.account(), service.account()]);
    const clients = [held, finishing, other];
    const hooks = clients.map((client) =>
      client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.failed'] }).expect(201),
    );
    await Promise.all(hooks);
    const ids = await Promise.all(clients.map((client) => upload(client)));
    const [heldId, finishingId, otherId] = ids as [string, string, string];
    await change(held, { status: 'suspended' });
    await change(finishing, { status: 'suspended', finishQueue: true });
    for (const { accountId } of clients) await failRecordings(service, accountId, 1);

    const worker = await startService(service.environment, { ROLES: 'worker', RECONCILE_SECONDS: '1' });
    for (const id of [finishingId, otherId]) {
      await eventually(async () => (await recording(id))?.status === 'transcribed');
    }
    for (const client of [finishing, other]) {
      await eventually(async () => (await delivery(client))?.status === 'delivered');
    }
    expect(await recording(heldId)).toEqual({ status: 'processing', attempt: 0 });
    expect(await delivery(held)).toEqual({ status: 'pending', attempts: 0 });

    await change(held, { status: 'active' });
    await eventually(async () => (await recording(heldId))?.status === 'transcribed');
    await eventually(async () => (await delivery(held))?.status === 'delivered');
    expect(await recording(heldId)).toEqual({ status: 'transcribed', attempt: 1 });
    await Promise.all([worker.close(), receiver.close()]);
  });

  it('is neither claimed nor given up, whatever its recordings wait for', async () => {
    const client = await service.account();
    const id = await upload(client);
    const leases = service.app.get(RecordingLeasesService);
    const set = (columns: string) => service.database.query(`UPDATE recordings SET ${columns} WHERE id = $1`, [id]);
    await change(client, { status: 'suspended' });
    await set(`lease_until = now() - interval '1 minute'`);

    expect(await leases.claimNext()).toBeNull();
    await set('attempt = 20');
    await leases.failExhausted();
    expect(await recording(id)).toEqual({ status: 'processing', attempt: 20 });

    await set('attempt = 3');
    await change(client, { status: 'suspended', finishQueue: true });
    expect(await leases.claimNext()).toMatchObject({ id, attempt: 4 });
  });
});
