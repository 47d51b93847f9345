import { randomUUID } from 'node:crypto';
import { SCOPES } from '../../src/platform/access/scopes.js';
import { type Said, runCli } from '../support/cli.js';
import { Caller } from '../support/caller.js';
import { expectRefusal } from '../support/refusals.js';
import { type Ground, prepareGround, type Service, startService } from '../support/service.js';
import { ACCOUNT, CREATED_API_KEY, SINGLE_API_KEY } from '../support/shapes.js';
import { SERVICE_TIMEOUT } from '../support/timeouts.js';

jest.setTimeout(SERVICE_TIMEOUT);

/** What an operator sees of an account: what clients see, and the limits in force. */
const OPERATOR_ACCOUNT = { ...ACCOUNT, rate_limit: expect.any(Number), burst_limit: expect.any(Number) };
const IN_A_YEAR = new Date(Date.now() + 365 * 86_400_000).toISOString();

describe('the command line (D30)', () => {
  let ground: Ground;
  let service: Service;

  beforeAll(async () => {
    ground = await prepareGround();
    service = await startService(ground, { ROLES: 'api' });
  });

  afterAll(async () => {
    await service.close();
    await ground.clear();
  });

  /** A command that succeeds: one JSON value on standard output, and nothing else anywhere. */
  async function json(...args: string[]) {
    const said = await runCli(ground, ...args, '--json');
    expect({ code: said.code, stderr: said.stderr }).toEqual({ code: 0, stderr: '' });
    expect(said.stdout).toMatch(/^\{.*\}\n$/);
    return JSON.parse(said.stdout);
  }

  const createAccount = (...options: string[]) =>
    json('account:create', '--name', 'Example Ltd', '--email', 'ops@example.com', ...options);
  const callerOf = (id: string, key: string, secret: string) => new Caller(service.url, id, { id: '', key, secret });

  function expectFailure({ code, stdout, stderr }: Said, reason: RegExp): void {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(reason);
    expect(stderr).not.toMatch(/\n\s+at /);
  }

  describe('account:create', () => {
    it('makes an account on the free plan and its first key, which holds every scope', async () => {
      const { account, api_key: key, api_secret: secret, ...others } = await createAccount();

      expect(others).toEqual({});
      expect(account).toStrictEqual({
        ...OPERATOR_ACCOUNT,
        name: 'Example Ltd',
        email: 'ops@example.com',
        status: 'active',
        plan: 'free',
        rate_limit: 10,
        burst_limit: 20,
      });
      const caller = callerOf(account.id, key, secret);
      const { body } = await caller.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '10');
      const { rate_limit: _, burst_limit: __, ...shown } = account;
      expect(body).toEqual(shown);
      const { body: keys } = await caller.get('/v1/account/api-keys').expect(200);
      expect(keys.api_keys).toMatchObject([{ scopes: [...SCOPES], status: 'active', key_prefix: key.slice(0, 12) }]);
    });

    it('takes a plan, and for an enterprise account limits of its own (D5)', async () => {
      const {
        account,
        api_key: key,
        api_secret: secret,
      } = await createAccount(...['--plan', 'enterprise', '--rate-limit', '7', '--burst-limit', '9']);

      expect(account).toMatchObject({ plan: 'enterprise', rate_limit: 7, burst_limit: 9 });
      await callerOf(account.id, key, secret).get('/v1/account').expect('X-RateLimit-Limit', '7');
    });

    it('speaks to people, too', async () => {
      const said = await runCli(ground, 'account:create', '--name', 'Example Ltd', '--email', 'ops@example.com');

      expect(said).toMatchObject({ code: 0, stderr: '' });
      expect(said.stdout).toMatch(/name: Example Ltd/);
      expect(said.stdout).toMatch(/api_secret: vns_\w{49}/);
    });
  });

  it.each<[string, RegExp, string[]]>([
    ['no name', /--name/, ['--email', 'ops@example.com']],
    ['a blank name', /--name/, ['--name', ' ', '--email', 'ops@example.com']],
    ['no e-mail address', /--email/, ['--name', 'x']],
    ['something that is no e-mail address', /--email/, ['--name', 'x', '--email', 'ops']],
    ['an unknown plan', /--plan.*free, pro, enterprise/, ['--name', 'x', '--email', 'a@b.co', '--plan', 'gold']],
    [
      'a burst below the rate',
      /burst/,
      ['--name', 'x', '--email', 'a@b.co', '--rate-limit', '9', '--burst-limit', '8'],
    ],
    ['a rate of 0', /--rate-limit/, ['--name', 'x', '--email', 'a@b.co', '--rate-limit', '0']],
    ['an unknown option', /--colour/, ['--name', 'x', '--email', 'a@b.co', '--colour', 'red']],
    ['an option twice', /--name.*once/, ['--name', 'x', '--name', 'y', '--email', 'a@b.co']],
  ])('account:create refuses %s: standard error, exit code 1', async (_, reason, options) => {
    const before = await service.database.query('SELECT id FROM accounts');
    expectFailure(await runCli(ground, 'account:create', '--json', ...options), reason);

    expect(await service.database.query('SELECT id FROM accounts')).toHaveLength(before.length);
  });

  describe('account:update', () => {
    it('changes what is given and nothing else, at once', async () => {
      const caller = await service.account('free');
      const { body: before } = await caller.get('/v1/account').expect(200);
      const { account } = await json('account:update', '--account', caller.accountId, '--plan', 'pro', '--name', 'New');

      expect(account).toStrictEqual({
        ...OPERATOR_ACCOUNT,
        ...before,
        name: 'New',
        plan: 'pro',
        updated_at: OPERATOR_ACCOUNT.updated_at,
        rate_limit: 100,
        burst_limit: 200,
      });
      const { body } = await caller.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '100');
      expect(body).toMatchObject({ name: 'New', plan: 'pro', email: before.email });
    });

    it('suspends an account and lets it back in (D4)', async () => {
      const caller = await service.account();
      const set = (status: string) => json('account:update', '--account', caller.accountId, '--status', status);

      expect((await set('suspended')).account.status).toBe('suspended');
      expectRefusal(await caller.get('/v1/account'), 'AccountSuspendedError');
      expect((await set('active')).account.status).toBe('active');
      await caller.get('/v1/account').expect(200);
    });

    it('holds burst against rate, also where only one of them is given', async () => {
      const { accountId } = await service.account();
      const update = (...options: string[]) => runCli(ground, 'account:update', '--account', accountId, ...options);

      expectFailure(await update('--burst-limit', '999'), /burst/);
      await json('account:update', '--account', accountId, '--rate-limit', '50', '--burst-limit', '60');
      expectFailure(await update('--rate-limit', '61'), /burst/);
    });
  });

  it.each<[string, RegExp, string[]]>([
    ['no account', /--account/, ['--name', 'x']],
    ['an unknown account', /no such account/, ['--account', randomUUID(), '--name', 'x']],
    ['an id that is none', /no such account/, ['--account', 'x', '--name', 'x']],
    ['an unknown status', /--status.*active, suspended/, ['--account', randomUUID(), '--status', 'deleted']],
  ])('account:update refuses %s: standard error, exit code 1', async (_, reason, options) => {
    expectFailure(await runCli(ground, 'account:update', '--json', ...options), reason);
  });

  it('account:list shows every account', async () => {
    const callers = await Promise.all([service.account('pro'), service.account('free')]);
    const { accounts } = await json('account:list');

    const [stored] = await service.database.query<{ count: number }>('SELECT count(*)::int AS count FROM accounts');
    expect(accounts).toHaveLength(stored?.count as number);
    for (const account of accounts) expect(account).toStrictEqual(OPERATOR_ACCOUNT);
    const ids = accounts.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(expect.arrayContaining(callers.map(({ accountId }) => accountId)));
  });

  describe('key:create', () => {
    it('makes a key with every scope, in the shape of its creation (2.2)', async () => {
      const { accountId } = await service.account();
      const created = await json('key:create', '--account', accountId);

      expect(created).toStrictEqual({ ...CREATED_API_KEY, scopes: [...SCOPES] });
      await callerOf(accountId, created.api_key, created.api_secret).get('/v1/account').expect(200);
    });

    it('takes a name, scopes and an end', async () => {
      const owner = await service.account();
      const options = ['--name', 'Phone', '--scopes', 'recordings:write,recordings:read', '--expires-at', IN_A_YEAR];
      const created = await json('key:create', '--account', owner.accountId, ...options);

      expect(created).toMatchObject({ name: 'Phone', scopes: ['recordings:write', 'recordings:read'] });
      const { body } = await owner.get(created.uri).expect(200);
      expect(body).toMatchObject({ name: 'Phone', expires_at: IN_A_YEAR.slice(0, 19) });
    });
  });

  it.each<[string, RegExp, string[]]>([
    ['no account', /--account/, []],
    ['an unknown account', /no such account/, ['--account', randomUUID()]],
    ['an unknown scope', /--scopes/, ['--account', randomUUID(), '--scopes', 'recordings:read,all']],
    ['a scope twice', /--scopes/, ['--account', randomUUID(), '--scopes', 'recordings:read,recordings:read']],
    ['an end in the past', /--expires-at/, ['--account', randomUUID(), '--expires-at', '2020-01-01T00:00:00Z']],
  ])('key:create refuses %s: standard error, exit code 1', async (_, reason, options) => {
    expectFailure(await runCli(ground, 'key:create', '--json', ...options), reason);
  });

  it('key:revoke ends a key at once, the last one of an account, too, and says how it stands (D12)', async () => {
    const caller = await service.account();
    await caller.get('/v1/account').expect(200);
    const revoked = await json('key:revoke', '--key', caller.credentials.id);

    expect(revoked).toStrictEqual({ ...SINGLE_API_KEY, id: caller.credentials.id, status: 'revoked' });
    expectRefusal(await caller.get('/v1/account'), 'AuthenticationError');
    expectFailure(await runCli(ground, 'key:revoke', '--key', caller.credentials.id, '--json'), /no such API key/);
  });

  it.each<[string, RegExp, string[]]>([
    ['no key', /--key/, []],
    ['an unknown key', /no such API key/, ['--key', randomUUID()]],
    ['a key by its public half', /no such API key/, ['--key', 'vnk_0123456789abcdefghijklmn']],
  ])('key:revoke refuses %s: standard error, exit code 1', async (_, reason, options) => {
    expectFailure(await runCli(ground, 'key:revoke', '--json', ...options), reason);
  });

  it.each<[string, string[]]>([
    ['no command', []],
    ['an unknown command', ['account:delete', '--json']],
    ['an option in place of a command', ['--json']],
  ])('names the commands there are when it is given %s', async (_, args) => {
    const said = await runCli(ground, ...args);

    expectFailure(said, /command/);
    for (const name of ['account:create', 'account:update', 'account:list', 'key:create', 'key:revoke']) {
      expect(said.stderr).toContain(name);
    }
  });

  it('says what is wrong with the environment, or with the database, and no more', async () => {
    const without = (changes: Record<string, string>): Ground => ({
      ...ground,
      environment: { ...ground.environment, ...changes },
    });

    const noSecret = await runCli(without({ SECRET_KEY: '' }), 'account:list', '--json');
    expectFailure(noSecret, /SECRET_KEY/);
    const noDatabase = await runCli(without({ DATABASE_URL: 'postgres://127.0.0.1:1/none' }), 'account:list', '--json');
    expectFailure(noDatabase, /ECONNREFUSED|reach/);
  });
});
