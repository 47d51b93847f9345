import { DataSource } from 'typeorm';
import { secretsUnderOtherKeys, WebhookSecretsService } from '../../../src/modules/webhooks/webhook-secrets.service.js';
import { readEnv } from '../../../src/platform/config/env.js';
import { SecretsService } from '../../../src/platform/secrets.service.js';
import { Webhook } from '../../../src/modules/webhooks/webhook.entity.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';

const HOOK = { url: 'http://127.0.0.1:9/', events: ['recording.failed'] };
const START = { id: '00000000-0000-0000-0000-000000000000', isPrevious: false };
const OLD_KEY = 'the old secret key of at least 32 characters';

/** Sends nothing. */
const api = useService({ ROLES: 'api', SECRET_KEY_PREVIOUS: OLD_KEY });
let client: ApiClient;
/** Of three webhooks, in the order of lists by id. */
let ids: [string, string, string];
let keyId: string;
let old: SecretsService;

beforeEach(async () => {
  await api.database.query('DELETE FROM webhooks');
  client = await api.account();
  const create = async (): Promise<string> => (await client.post('/v1/webhooks', HOOK).expect(201)).body.id;
  ids = [await create(), await create(), await create()].toSorted() as typeof ids;
  keyId = api.app.get(SecretsService).keyId;
  old = new SecretsService(readEnv({ ...api.environment.variables, SECRET_KEY: OLD_KEY }));
});

/** @param columns as SQL, which may name `$2`, a secret under the old key. */
const set = (id: string, columns: string) =>
  api.database.query(`UPDATE webhooks SET ${columns} WHERE id = $1 AND $2::text IS NOT NULL`, [
    id,
    old.encrypt('the secret of before', id),
  ]);

describe('the secrets of webhooks under other keys', () => {
  const found = async (after = START, limit = 10) =>
    (await secretsUnderOtherKeys(api.database, { keyId, after, limit })).map(({ id, isPrevious }) => [id, isPrevious]);

  it('are the present ones and the previous ones that still sign, in the order of the ids, page by page', async () => {
    const [first, second, third] = ids;
    expect(await found()).toEqual([]);
    for (const id of [third, first]) await set(id, 'encrypted_secret = $2');
    const previous = (hours: number) =>
      `previous_encrypted_secret = $2, previous_secret_until = now() + make_interval(hours => ${hours})`;
    await set(first, previous(1));
    await set(second, previous(-1));
    await set(third, `previous_encrypted_secret = encrypted_secret, previous_secret_until = now() + interval '1 hour'`);
    const all = [
      [first, false],
      [first, true],
      [third, false],
      [third, true],
    ];
    expect(await found()).toEqual(all);
    expect(await found(START, 1)).toEqual(all.slice(0, 1));
    expect(await found({ id: first, isPrevious: false }, 2)).toEqual(all.slice(1, 3));
    expect(await found({ id: first, isPrevious: true })).toEqual(all.slice(2));
    expect(await found({ id: third, isPrevious: true })).toEqual([]);
    const [row] = await secretsUnderOtherKeys(api.database, { keyId, after: START, limit: 1 });
    expect(row).toMatchObject({
      accountId: client.accountId,
      encryptedSecret: expect.stringMatching(`^${old.keyId}\\.`),
    });
  });

  it('are encrypted anew where they stand, and nothing else of the webhook changes', async () => {
    const [first, second, third] = ids;
    const rows = () =>
      api.database.query<Record<string, unknown>>('SELECT * FROM webhooks WHERE id = ANY ($1) ORDER BY id', [ids]);
    await set(first, 'encrypted_secret = $2');
    await set(second, `previous_encrypted_secret = $2, previous_secret_until = now() + interval '1 hour'`);
    await set(third, `previous_encrypted_secret = $2, previous_secret_until = now() - interval '1 second'`);
    const before = await rows();
    const current = api.app.get(SecretsService);
    const repository = api.app.get(DataSource).getRepository(Webhook);
    const service = new WebhookSecretsService(repository, api.database, current);
    expect(await service.reencrypt()).toEqual({ reencrypted: 2, left: 0, unreadable: [] });
    const after = await rows();
    const secretOf = (row: Record<string, unknown> | undefined, column: string) =>
      current.decrypt(row?.[column] as string, row?.id as string);
    expect(secretOf(after[0], 'encrypted_secret')).toBe('the secret of before');
    expect(secretOf(after[1], 'previous_encrypted_secret')).toBe('the secret of before');
    expect(after).toEqual([
      { ...before[0], encrypted_secret: expect.stringMatching(`^${keyId}\\.`) },
      { ...before[1], previous_encrypted_secret: expect.stringMatching(`^${keyId}\\.`) },
      { ...before[2], previous_encrypted_secret: null, previous_secret_until: null },
    ]);
    expect(await service.reencrypt()).toEqual({ reencrypted: 0, left: 0, unreadable: [] });
  });
});
