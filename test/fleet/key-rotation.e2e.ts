import request from 'supertest';
import { readEnv } from '../../src/platform/config/env.js';
import { SecretsService } from '../../src/platform/secrets.service.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { commandRunner } from '../support/service/cli.js';
import { eventually } from '../../src/testing/eventually.js';
import { failRecordings } from '../support/state/recording-events.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { addWebhooks } from '../support/state/filler-rows.js';
import { expectError } from '../support/http/expect-errors.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { startService, type TestService } from '../../src/testing/test-service.js';
import { RESOURCE_TIME } from '../support/http/response-shapes.js';
import { signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';

const OLD = { SECRET_KEY: 'the old secret key of at least 32 characters' };
const NEW = { SECRET_KEY: 'the new secret key of at least 32 characters' };
const BOTH = { ...NEW, SECRET_KEY_PREVIOUS: OLD.SECRET_KEY };
/** The keys under which audio is encrypted are wrapped by SECRET_KEY, too. */
const STORAGE_ENCRYPTION = 'key';
/** Three attempts, far enough apart to see that each waits for its time. */
const WEBHOOK_RETRY_SCHEDULE = '1,1';
const TIME = expect.stringMatching(RESOURCE_TIME);
const UNREADABLE = "the webhook's secret cannot be read: set a new one";
const USED_HOOK = '/used';
const LOST_HOOK = '/lost';
const LOST_KEY = '00000000.AAAA.AAAA.AAAA';
/** More than the command reads at once. */
const MANY = 1100;

interface Hook {
  id: string;
  secret: string;
}

describe('rotating SECRET_KEY', () => {
  const environment = useEnvironment();
  const run = commandRunner();
  let service: TestService;
  let receiver: WebhookReceiver;
  let oldKeyId: string;
  let used: ApiClient;
  let unused: ApiClient;
  let token: string;
  let hook: Hook;
  let audio: string;
  let lost: { client: ApiClient; hook: Hook };

  beforeAll(async () => {
    receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    service = await startService(environment, { ...OLD, STORAGE_ENCRYPTION, WEBHOOK_RETRY_SCHEDULE });
    oldKeyId = service.app.get(SecretsService).keyId;
  });

  /** Under the old key, and as the service has them now. */
  const secrets = (): [SecretsService, SecretsService] => [
    new SecretsService(readEnv({ ...environment.variables, ...OLD })),
    service.app.get(SecretsService),
  ];
  const keyId = () => service.app.get(SecretsService).keyId;
  /** The same client, at the service as it runs now. */
  const now = (client: ApiClient) => client.at(service.url);
  const ask = (client: ApiClient) => now(client).get('/v1/account');

  async function restart(keys: Record<string, string>): Promise<void> {
    await service.close();
    service = await startService(environment, { ...keys, STORAGE_ENCRYPTION, WEBHOOK_RETRY_SCHEDULE });
  }

  async function createHook(client: ApiClient, path: string): Promise<Hook> {
    const body = { url: receiver.url(path), events: ['recording.failed'] };
    return (await now(client).post('/v1/webhooks', body).expect(201)).body;
  }

  async function rowOf<Row>(table: string, id: string): Promise<Row> {
    const [row] = await service.database.query<Row>(`SELECT * FROM ${table} WHERE id = $1`, [id]);
    if (!row) throw new Error(`there is no ${id} in ${table}`);
    return row;
  }
  const hashOf = async (client: ApiClient) =>
    (await rowOf<{ secret_hash: string }>('api_keys', client.credentials.id)).secret_hash;
  const sealedOf = async (id: string) => (await rowOf<{ encrypted_secret: string }>('webhooks', id)).encrypted_secret;
  const setSealed = (id: string, sealed: string) =>
    service.database.query('UPDATE webhooks SET encrypted_secret = $2 WHERE id = $1', [id, sealed]);

  const requestsTo = (path: string) => receiver.requests.filter((received) => received.path === path);

  /** Of what the account's other webhooks get, nothing counts here. */
  async function expectSignedDelivery(): Promise<void> {
    const [recordingId] = (await failRecordings(service, used.accountId, 1)) as [string];
    const delivery = await eventually(async () => requestsTo(USED_HOOK).find(({ body }) => body.includes(recordingId)));
    expect(signatureProblems(delivery, hook.secret)).toEqual([]);
  }

  const upload = () =>
    request(service.url)
      .post('/v1/recordings')
      .set('Authorization', `Bearer ${token}`)
      .attach('file', silenceWav(0.1), 'note.wav');

  async function rotate(keys: Record<string, string>) {
    const { code, stdout, stderr } = await run(
      { variables: { ...environment.variables, ...keys } },
      ...['secrets:rotate', '--json'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  const shown = ({ accountId, credentials }: ApiClient, lastUsedAt: unknown = null) => ({
    id: credentials.id,
    account_id: accountId,
    name: 'Test key',
    last_used_at: lastUsedAt,
  });

  it('begins with credentials made under the old key', async () => {
    used = await service.account();
    unused = await service.key(used, ['account:read']);
    const revoked = await service.key(used, ['account:read']);
    await used.delete(`/v1/account/api-keys/${revoked.credentials.id}`).expect(204);
    hook = await createHook(used, USED_HOOK);
    token = (await used.post('/v1/account/access-tokens', { identity: 'user-42' }).expect(201)).body.token;
    const client = await service.account();
    lost = { client, hook: await createHook(client, LOST_HOOK) };
    await service.database.query('UPDATE api_keys SET secret_hash = $2 WHERE id = $1', [
      client.credentials.id,
      LOST_KEY,
    ]);
    await setSealed(lost.hook.id, LOST_KEY);

    await expectSignedDelivery();
    audio = `/v1/recordings/${(await upload().expect(201)).body.id}/audio`;
    expect(await hashOf(used)).toMatch(`${oldKeyId}.`);
  });

  describe('with the new key and SECRET_KEY_PREVIOUS', () => {
    beforeAll(() => restart(BOTH));

    it('access tokens issued before verify, and deliveries are signed as before', async () => {
      await upload().expect(201);
      await expectSignedDelivery();
      expect(await sealedOf(hook.id)).toMatch(`${oldKeyId}.`);
    });

    it("a key's hash is renewed when the key is used, and by nothing less", async () => {
      const before = await rowOf<{ secret_hash: string; updated_at: Date }>('api_keys', used.credentials.id);
      const wrong = { ...now(used).headers, 'X-Service-API-Secret': unused.credentials.secret };
      expectError(await request(service.url).get('/v1/account').set(wrong), 'AuthenticationError');
      expect(await hashOf(used)).toBe(before.secret_hash);

      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(used)));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
      await eventually(async () => (await hashOf(used)).startsWith(`${keyId()}.`));
      await ask(used).expect(200);
      const after = await rowOf<{ secret_hash: string; updated_at: Date }>('api_keys', used.credentials.id);
      expect(after).toMatchObject({ updated_at: before.updated_at });
      expect(await hashOf(unused)).toMatch(`${oldKeyId}.`);
    });

    it('secrets:rotate puts every secret it can read under the new key, and names what is left', async () => {
      const disabled = await createHook(used, '/disabled');
      await now(used)
        .put(`/v1/webhooks/${disabled.id}`, {
          url: receiver.url('/disabled'),
          events: ['recording.failed'],
          status: 'disabled',
        })
        .expect(200);
      // Made under the new key already: nothing to do.
      const made = await sealedOf(disabled.id);

      const report = await rotate(BOTH);
      expect(report).toEqual({
        webhook_secrets: { reencrypted: 1, left: 0, unreadable: 1 },
        api_keys: { waiting_for_use: 1, unreadable: 1 },
        keys_waiting_for_use: [shown(unused)],
        unreadable_keys: [shown(lost.client, TIME)],
        unreadable_webhooks: [{ id: lost.hook.id, account_id: lost.client.accountId }],
        audio_keys: { rewrapped: 1, left: 0, unreadable: 0 },
        unreadable_audio_keys: [],
        advice: expect.stringMatching(/^Keep SECRET_KEY_PREVIOUS for now\. 1 API key still needs /),
      });
      expect(await sealedOf(hook.id)).toMatch(`${keyId()}.`);
      expect(await sealedOf(disabled.id)).toBe(made);
      expect(await sealedOf(lost.hook.id)).toBe(LOST_KEY);
      await expectSignedDelivery();
      expect((await rotate(BOTH)).webhook_secrets).toEqual({ reencrypted: 0, left: 0, unreadable: 1 });
    });

    it('secrets:rotate also encrypts previous secrets anew that are still valid, and removes the others (D37)', async () => {
      const [old, current] = secrets();
      const [valid, expired] = [await createHook(used, '/valid'), await createHook(used, '/expired')];
      const setPrevious = (id: string, hours: number) =>
        service.database.query(
          `UPDATE webhooks SET previous_encrypted_secret = $2, previous_secret_until = now() + make_interval(hours => $3)
           WHERE id = $1`,
          [id, old.encrypt('the secret before', id), hours],
        );
      await setPrevious(valid.id, 1);
      await setPrevious(expired.id, -1);
      const previousOf = async (id: string) =>
        (await rowOf<{ previous_encrypted_secret: string }>('webhooks', id)).previous_encrypted_secret;

      expect((await rotate(BOTH)).webhook_secrets).toEqual({ reencrypted: 1, left: 0, unreadable: 1 });
      expect(await previousOf(valid.id)).toMatch(`${keyId()}.`);
      expect(current.decrypt(await previousOf(valid.id), valid.id)).toBe('the secret before');
      expect(await previousOf(expired.id)).toBeNull();
    });

    it('secrets:rotate does not overwrite a secret that is changed while it runs', async () => {
      const [old, current] = secrets();
      const contested = await createHook(used, '/contested');
      await setSealed(contested.id, old.encrypt('the secret before', contested.id));

      let running: Promise<{ webhook_secrets: object }> | undefined;
      await service.database.transact(async (tx) => {
        const changed = current.encrypt('the secret afterwards', contested.id);
        await tx.query('UPDATE webhooks SET encrypted_secret = $2 WHERE id = $1', [contested.id, changed]);
        running = rotate(BOTH);
        await eventually(async () => {
          const sql = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE "webhooks"%'
            AND datname = current_database()`;
          return (await service.database.query(sql)).length > 0;
        });
      });
      expect((await running)?.webhook_secrets).toEqual({ reencrypted: 0, left: 0, unreadable: 1 });
      expect(current.decrypt(await sealedOf(contested.id), contested.id)).toBe('the secret afterwards');
    });

    it(`secrets:rotate goes through ${MANY} webhooks, those it cannot read among them`, async () => {
      const client = await service.account();
      const [old, current] = secrets();
      const ids = await addWebhooks(service, client, MANY);
      const sealed = ids.map((id, index) => (index % 10 === 0 ? 'damaged' : old.encrypt(`secret of ${id}`, id)));
      await service.database.query(
        `UPDATE webhooks w SET encrypted_secret = s.sealed FROM unnest($1::uuid[], $2::text[]) AS s (id, sealed)
         WHERE w.id = s.id`,
        [ids, sealed],
      );

      const started = performance.now();
      const report = await rotate(BOTH);
      reportMeasurement(`secrets:rotate of ${MANY} webhooks: ${((performance.now() - started) / 1000).toFixed(1)} s`);
      expect(report.webhook_secrets).toEqual({ reencrypted: MANY * 0.9, left: 0, unreadable: MANY * 0.1 + 1 });
      const rows = await service.database.query<{ id: string; sealed: string }>(
        `SELECT id, encrypted_secret AS sealed FROM webhooks WHERE account_id = $1 AND encrypted_secret <> 'damaged'`,
        [client.accountId],
      );
      expect(rows).toHaveLength(MANY * 0.9);
      for (const { id, sealed: text } of rows) expect(current.decrypt(text, id)).toBe(`secret of ${id}`);
      await service.database.query('DELETE FROM webhooks WHERE account_id = $1', [client.accountId]);
    });
  });

  describe('with the new key alone', () => {
    beforeAll(() => restart(NEW));

    it('keys used since are valid, deliveries are signed as before, and other keys are 401', async () => {
      await ask(used).expect(200);
      await expectSignedDelivery();
      expectError(await ask(unused), 'AuthenticationError');
      expectError(await ask(lost.client), 'AuthenticationError');
      expectError(await upload(), 'AuthenticationError');
    });

    it('a secret that cannot be read fails each attempt of the schedule, with its reason, and nothing else', async () => {
      const started = Date.now();
      await failRecordings(service, lost.client.accountId, 1);
      const rows = () =>
        service.database.query<{ status: string; attempts: number; last_error: string | null }>(
          'SELECT status, attempts, last_error FROM deliveries WHERE webhook_id = $1',
          [lost.hook.id],
        );
      const ended = await eventually(async () => (await rows()).find(({ status }) => status !== 'pending'));
      expect(ended).toEqual({ status: 'failed', attempts: 3, last_error: UNREADABLE });
      const attempts = await service.database.query(
        `SELECT a.number, a.reason FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id
         WHERE d.webhook_id = $1 ORDER BY a.number`,
        [lost.hook.id],
      );
      expect(attempts).toEqual([1, 2, 3].map((number) => ({ number, reason: UNREADABLE })));
      // Two gaps of a second, each shortened by a fifth at most.
      expect(Date.now() - started).toBeGreaterThanOrEqual(1600);
      expect(requestsTo(LOST_HOOK)).toEqual([]);
      await eventually(async () => (await request(service.url).get('/health/ready')).ok);
      await expectSignedDelivery();
    });

    it('audio that was stored under the old key can be read', async () => {
      const { body } = await now(used).get(audio).buffer(true).expect(200);
      expect(body).toEqual(silenceWav(0.1));
    });

    it('secrets:rotate says that there is no previous key, and names who is locked out', async () => {
      expect(await rotate(NEW)).toMatchObject({
        webhook_secrets: { reencrypted: 0, left: 0, unreadable: 1 },
        api_keys: { waiting_for_use: 0, unreadable: 2 },
        unreadable_keys: [shown(unused), shown(lost.client, TIME)],
        advice: expect.stringMatching(/^SECRET_KEY_PREVIOUS is not set\./),
      });
    });
  });

  it('with SECRET_KEY_PREVIOUS set again, a key that was refused is valid again, and the old one can be removed', async () => {
    await restart(BOTH);
    await ask(unused).expect(200);
    await eventually(async () => (await hashOf(unused)).startsWith(`${keyId()}.`));

    expect(await rotate(BOTH)).toMatchObject({
      api_keys: { waiting_for_use: 0, unreadable: 1 },
      advice: expect.stringMatching(/^SECRET_KEY_PREVIOUS can be removed one day after/),
    });
  });
});
