import type { ApiClient } from '../../src/testing/api-client.js';
import {
  call,
  type Ids,
  NAMED_OPERATIONS,
  type Operation,
  createResources,
  ROUTES,
  SharedResources,
} from '../support/http/operations.js';
import { expectError } from '../support/http/expect-errors.js';
import { routesOf } from '../support/http/routes.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import { useService } from '../../src/testing/test-service.js';
import { upload } from '../support/state/recording-states.js';

/** Written in the background when a key is used, also by the tests themselves. */
const LAGGING = ['usage_count', 'last_used_at'];

describe('tenancy: what belongs to another account is not there', () => {
  let owner: ApiClient;
  let resources: SharedResources;
  let stranger: ApiClient;

  const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });

  beforeAll(async () => {
    owner = await service.account();
    resources = new SharedResources(service, owner);
  });

  beforeEach(async () => {
    stranger = await service.account();
  });

  /** Every row of an account in every table that names accounts, those of tables yet to come included. */
  async function everythingOf({ accountId }: ApiClient): Promise<object> {
    const tables = await service.database.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name = 'account_id' ORDER BY 1`,
    );
    expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['api_keys', 'recordings', 'webhooks']));
    const rowsOf = (table: string, column: string) =>
      service.database.query<object>(
        `SELECT to_jsonb(t) - $2::text[] AS row FROM ${table} t WHERE t.${column} = $1 ORDER BY 1`,
        [accountId, LAGGING],
      );
    return await Promise.all([rowsOf('accounts', 'id'), ...tables.map(({ name }) => rowsOf(name, 'account_id'))]);
  }

  /** Whatever could give the owner away in an answer. */
  const marksOf = (ids: Ids, account = owner): string[] => [
    ...Object.values(ids),
    account.accountId,
    account.credentials.id,
  ];

  it('is asked of every operation that the application routes', () => {
    expect(ROUTES).toEqual(routesOf(service.app).toSorted());
  });

  // An end user is no resource: each account can have one of the same name.
  const namesResource = ({ path }: Operation): boolean => path.replace(':user_id', '').includes('_id');
  const single = NAMED_OPERATIONS.filter(([, operation]) => namesResource(operation));
  const general = NAMED_OPERATIONS.filter(([, operation]) => !namesResource(operation));

  it.each(single)('%s is 404 for the id of another account, and changes nothing', async (_, operation: Operation) => {
    const { owner: account, ids } = await resources.forSuccess(operation);
    const before = await everythingOf(account);

    const answer = await call(stranger, operation, ids);
    expectError(answer, 'NotFoundError');
    for (const mark of marksOf(ids, account)) expect(answer.text).not.toContain(mark);
    expect(await everythingOf(account)).toEqual(before);

    // The id was right: it is the account that was not.
    expect((await call(account, operation, ids)).status).toBe(operation.success);
  });

  it.each(single)('%s answers the same to another account’s id as to one that never was', async (_, operation) => {
    const ids = await resources.of(operation);
    const changed = (id: string) => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');
    const never = {
      key_id: changed(ids.key_id),
      webhook_id: changed(ids.webhook_id),
      delivery_id: changed(ids.delivery_id),
      recording_id: changed(ids.recording_id),
    };

    const [theirs, nobodys] = [await call(stranger, operation, ids), await call(stranger, operation, never)];
    expect(theirs.body).toEqual(nobodys.body);
  });

  it.each(general)('%s shows and touches nothing of another account', async (_, operation: Operation) => {
    const ids = await resources.of(operation);
    const before = await everythingOf(owner);

    const answer = await call(stranger, operation, ids).expect(operation.success);
    for (const mark of marksOf(ids)) expect(answer.text).not.toContain(mark);
    expect(await everythingOf(owner)).toEqual(before);
  });

  it.each([
    ['/v1/recordings', 'recordings', ''],
    ['/v1/recordings', 'recordings', '?status=processing&date_from=2020-01-01'],
    ['/v1/webhooks', 'webhooks', '?status=active'],
    ['/v1/account/api-keys', 'api_keys', '?status=active'],
  ])('the page of %s counts and lists the account’s own alone (%s%s)', async (path, collection, query) => {
    const [mine] = await Promise.all([
      createResources(service, stranger, {}),
      upload(owner),
      owner.post('/v1/webhooks', { url: 'https://hooks.example.com/', events: ['recording.failed'] }).expect(201),
    ]);

    const { body } = await stranger.get(`${path}${query}`).expect(200);
    const own = [...Object.values(mine), stranger.credentials.id] as string[];
    const ids = body[collection].map(({ id }: { id: string }) => id) as string[];
    expect(ids.length).toBeGreaterThan(0);
    expect(own).toEqual(expect.arrayContaining(ids));
    expect(body.total).toBe(ids.length);
  });

  it('is not counted in an account’s usage (D8)', async () => {
    await upload(owner);
    const { body } = await stranger.get('/v1/account').expect(200);

    expect(body.id).toBe(stranger.accountId);
    expect(body.usage.current_month.recordings_count).toBe(0);
  });

  it('cannot be left by a key pair that is mixed from two accounts', async () => {
    const mixed = { ...owner.headers, 'X-Service-API-Key': stranger.headers['X-Service-API-Key'] as string };
    const answer = await stranger.get('/v1/account').set(mixed);

    expectError(answer, 'AuthenticationError');
  });
});
