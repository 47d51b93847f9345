import { AccountService } from '../../../src/modules/account/account.service.js';
import { compactUsageCounters } from '../../../src/modules/recordings/usage-counters/usage-counters.queries.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { expectHeaders, expectInvalid } from '../../support/http/expect-errors.js';
import { useService } from '../../../src/testing/test-service.js';
import { UUID } from '../../support/http/matchers.js';
import { ACCOUNT } from '../../support/http/response-shapes.js';
import { backdate, transcribe, upload } from '../../support/state/recording-states.js';

/** Of the note that `upload` sends: a tenth of a second of 16 kHz mono. */
const NOTE = { seconds: 0.1, bytes: silenceWav(0.1).length };
const NOTHING = { recordings_count: 0, total_duration_seconds: 0, storage_used_bytes: 0 };

describe('account', () => {
  let client: ApiClient;

  const service = useService({ ROLES: 'api' });

  beforeEach(async () => {
    client = await service.account();
  });

  const usage = async () => (await client.get('/v1/account').expect(200)).body.usage;

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

  it.each(['free', 'pro', 'enterprise'] as const)('shows the plan %s (D5)', async (plan) => {
    const { body } = await (await service.account(plan)).get('/v1/account').expect(200);
    expect(body.plan).toBe(plan);
  });

  it('shows at once what the operator changed', async () => {
    const before = await client.get('/v1/account').expect(200);
    await service.app.get(AccountService).update(client.accountId, { name: 'Renamed', plan: 'pro' });

    const { body } = await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '100');
    expect(body).toMatchObject({ name: 'Renamed', plan: 'pro', created_at: before.body.created_at });
    expect(body.updated_at >= before.body.updated_at).toBe(true);
  });

  it('takes no query parameter (D16)', async () => {
    expectInvalid(await client.get('/v1/account?fields=name'), 'fields', /not a parameter/);
  });

  describe('usage (D8)', () => {
    it('counts recordings, seconds and bytes of this month', async () => {
      await upload(client);
      await upload(client);

      expect(await usage()).toEqual({
        current_month: {
          recordings_count: 2,
          total_duration_seconds: 2 * NOTE.seconds,
          storage_used_bytes: 2 * NOTE.bytes,
        },
        previous_month: NOTHING,
      });
    });

    it('is exact when uploads and deletions come at the same time, folded or not', async () => {
      const ids = await Promise.all(Array.from({ length: 12 }, () => upload(client)));
      await Promise.all([
        ...ids.slice(0, 5).map((id) => client.delete(`/v1/recordings/${id}`).expect(204)),
        ...Array.from({ length: 6 }, () => upload(client)),
        compactUsageCounters(service.database),
      ]);
      const expected = {
        recordings_count: 18,
        total_duration_seconds: 1.8,
        storage_used_bytes: 13 * NOTE.bytes,
      };

      expect((await usage()).current_month).toEqual(expected);
      await compactUsageCounters(service.database);
      expect((await usage()).current_month).toEqual(expected);
    });

    it('keeps counting a deleted recording and its seconds, and no longer its bytes', async () => {
      const id = await upload(client);
      await client.delete(`/v1/recordings/${id}`).expect(204);

      expect((await usage()).current_month).toEqual({
        recordings_count: 1,
        total_duration_seconds: NOTE.seconds,
        storage_used_bytes: 0,
      });
    });

    it('takes the decoded length once there is one (D21)', async () => {
      await transcribe(service, await upload(client), { durationMs: 2500 });

      expect((await usage()).current_month).toMatchObject({ recordings_count: 1, total_duration_seconds: 2.5 });
    });

    it('books a recording in the UTC month of its creation, and shows two months', async () => {
      const now = new Date();
      const monthsAgo = (months: number, ms = 0) =>
        new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1) + ms).toISOString();
      await backdate(service, await upload(client), monthsAgo(1));
      await backdate(service, await upload(client), monthsAgo(0, -1));
      await backdate(service, await upload(client), monthsAgo(1, -1));
      await upload(client);
      const { current_month: current, previous_month: previous } = await usage();

      expect([current.recordings_count, previous.recordings_count]).toEqual([1, 2]);
      expect(previous).toEqual({
        recordings_count: 2,
        total_duration_seconds: 2 * NOTE.seconds,
        storage_used_bytes: 2 * NOTE.bytes,
      });
    });

    it('counts only the recordings of the account', async () => {
      await upload(await service.account());

      expect((await usage()).current_month).toEqual(NOTHING);
    });
  });
});
