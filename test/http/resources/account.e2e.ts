import { AccountService } from '../../../src/modules/account/account.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { expectHeaders } from '../../support/http/expect-errors.js';
import { useService } from '../../../src/testing/test-service.js';
import { UUID } from '../../support/http/matchers.js';
import { ACCOUNT } from '../../support/http/response-shapes.js';

const NOTHING = { recordings_count: 0, total_duration_seconds: 0, storage_used_bytes: 0 };

describe('account', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api' });

  beforeEach(async () => {
    client = await service.account();
  });

  it('is shown with exactly the fields of its shape (2.1, D2, D3)', async () => {
    const answer = await client
      .get('/v1/account')
      .expect(200)
      .expect('Content-Type', 'application/json; charset=utf-8');

    expect(answer.body).toStrictEqual({
      ...ACCOUNT,
      id: client.accountId,
      name: expect.stringMatching(/^Account /),
      email: 'test@example.com',
      status: 'active',
      plan: 'enterprise',
      usage: { current_month: NOTHING, previous_month: NOTHING },
    });
    expect(answer.body.id).toMatch(UUID);
    expectHeaders(answer);
  });

  it('shows the plan (D5)', async () => {
    for (const plan of ['free', 'pro'] as const) {
      const { body } = await (await service.account(plan)).get('/v1/account').expect(200);
      expect(body.plan).toBe(plan);
    }
  });

  it('shows at once what the operator changed', async () => {
    const before = await client.get('/v1/account').expect(200);
    await service.app.get(AccountService).update(client.accountId, { name: 'Renamed', plan: 'pro' });

    const { body } = await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '100');
    expect(body).toMatchObject({ name: 'Renamed', plan: 'pro', created_at: before.body.created_at });
    expect(body.updated_at >= before.body.updated_at).toBe(true);
  });
});
