import { v7 as uuidv7 } from 'uuid';
import { addKeyUses } from '../../../src/modules/api-keys/api-key-credentials.service.js';
import { ApiKeysService } from '../../../src/modules/api-keys/api-keys.service.js';
import { NotFoundError } from '../../../src/platform/errors/errors.js';
import type { Env } from '../../../src/platform/config/env.js';
import { SecretsService } from '../../../src/platform/secrets.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { useService } from '../../../src/testing/test-service.js';
import { locksInOrder } from '../../support/state/held-rows.js';

const PREVIOUS = 'another secret key of at least 32 characters';

describe('API keys in Postgres', () => {
  const service = useService({ ROLES: 'api', SECRET_KEY_PREVIOUS: PREVIOUS });
  let client: ApiClient;
  let accountId: string;

  beforeEach(async () => {
    client = await service.account();
    ({ accountId } = client);
    await service.database.query('DELETE FROM api_keys WHERE account_id = $1', [accountId]);
  });

  const keys = (): ApiKeysService => service.app.get(ApiKeysService);
  const create = async (fields: object = {}, account = accountId): Promise<string> => {
    const maker = { keyId: null, scopes: ['recordings:read'] };
    return (await keys().create(account, maker, { name: 'A key', ...fields })).key.id;
  };
  const set = (id: string, change: string): Promise<unknown[]> =>
    service.database.query(`UPDATE api_keys SET ${change} WHERE id = $1`, [id]);

  describe('list', () => {
    const list = async (query: object = {}, account = accountId) => {
      const { items, total } = await keys().list(account, { page: 0, limit: 50, ...query });
      return { ids: items.map(({ id }) => id), total };
    };

    it('has those of the account that are not revoked, the newest first, those of one moment by their ids', async () => {
      const ids = [await create(), await create(), await create(), await create()] as const;
      const [oldest, ...others] = ids;
      for (const id of others) await set(id, `created_at = '2026-01-02'`);
      await set(oldest, `created_at = '2026-01-01'`);
      await set(await create(), 'revoked_at = now()');
      await create({}, (await service.account()).accountId);
      const order = [...others.toSorted().toReversed(), oldest];
      expect(await list()).toEqual({ ids: order, total: 4 });
      expect(await list({ limit: 3 })).toEqual({ ids: order.slice(0, 3), total: 4 });
      expect(await list({ limit: 3, page: 1 })).toEqual({ ids: order.slice(3), total: 4 });
      expect(await list({ limit: 3, page: 2 })).toEqual({ ids: [], total: 4 });
    });

    it('can be asked for those of one status', async () => {
      const [active, later, expired, revoked, both] = [
        await create(),
        await create(),
        await create(),
        await create(),
        await create(),
      ];
      await set(later, `expires_at = now() + interval '1 hour'`);
      await set(expired, `expires_at = now() - interval '1 second'`);
      await set(revoked, 'revoked_at = now()');
      await set(both, `revoked_at = now(), expires_at = now() - interval '1 second'`);
      const sorted = async (query: object) => (await list(query)).ids.toSorted();
      expect(await sorted({})).toEqual([active, later, expired].toSorted());
      expect(await sorted({ status: 'active' })).toEqual([active, later].toSorted());
      expect(await sorted({ status: 'expired' })).toEqual([expired]);
      expect(await sorted({ status: 'revoked' })).toEqual([revoked, both].toSorted());
      for (const status of ['active', 'expired', 'revoked']) {
        expect((await list({ status }, (await service.account()).accountId)).ids).not.toContain(active);
      }
    });
  });

  it('are read as they were made, by their account alone, also when they are revoked', async () => {
    const id = await create({ name: 'Phone', description: 'for the app', expires_at: '2030-01-31T12:00:00Z' });
    await keys().revoke(accountId, id);
    const key = await keys().get(accountId, id);
    expect(key).toMatchObject({
      name: 'Phone',
      description: 'for the app',
      expiresAt: new Date('2030-01-31T12:00:00Z'),
      scopes: ['recordings:read'],
      usageCount: 0,
      lastUsedAt: null,
      createdBy: null,
      status: 'revoked',
    });
    // The hash is read only where it is compared.
    expect(key.secretHash).toBeUndefined();
    const stranger = await service.account();
    await expect(keys().get(stranger.accountId, id)).rejects.toEqual(new NotFoundError('API key'));
    for (const unknown of [uuidv7(), 'no id']) {
      await expect(keys().get(accountId, unknown)).rejects.toEqual(new NotFoundError('API key'));
      await expect(keys().ownerOf(unknown)).rejects.toEqual(new NotFoundError('API key'));
    }
    expect(await keys().ownerOf(id)).toBe(accountId);
  });

  it('whose hash is under another key are told, those that may still be used, in the order of their making', async () => {
    await service.database.query('DELETE FROM api_keys', []);
    const previous = new SecretsService({ secretKey: PREVIOUS, secretKeyPrevious: null } as Env);
    const [current, b, a, elsewhere, lost, revoked, expired] = [
      await create(),
      await create(),
      await create(),
      await create({}, (await service.account()).accountId),
      await create(),
      await create(),
      await create(),
    ];
    for (const id of [b, a, elsewhere, revoked, expired]) await set(id, `secret_hash = '${previous.hash('x')}'`);
    await set(lost, `secret_hash = 'unknown.x'`);
    await set(revoked, 'revoked_at = now()');
    await set(expired, `expires_at = now() - interval '1 second'`);
    for (const id of [b, a]) await set(id, `created_at = '2026-01-02'`);
    await set(elsewhere, `created_at = '2026-01-01'`);
    // Made at one moment, and the later id is not stored last.
    await set(b, `name = 'changed'`);
    const { waiting, unreadable } = await keys().underOtherKeys();
    const own = new Set([current, b, a, elsewhere, lost, revoked, expired]);
    const idsOf = (found: { id: string }[]) => found.map(({ id }) => id).filter((id) => own.has(id));
    expect(idsOf(waiting)).toEqual([elsewhere, ...[a, b].toSorted()]);
    expect(idsOf(unreadable)).toEqual([lost]);
  });

  it('are locked in the order of their ids by uses and by a revocation, so that the two cannot deadlock', async () => {
    const [low, high] = [await create(), await create()].toSorted() as [string, string];
    const use = { count: 1, lastUsedAt: new Date() };
    const uses = new Map([
      [high, use],
      [low, use],
    ]);
    expect(
      await locksInOrder(service.database, 'api_keys', [low, high], () => addKeyUses(service.database, uses)),
    ).toBe(true);
    await set(low, `created_by = '${high}'`);
    const revoke = () => keys().revoke(accountId, high, { descendants: true });
    expect(await locksInOrder(service.database, 'api_keys', [low, high], revoke)).toBe(true);
  });
});
