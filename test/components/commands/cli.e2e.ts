import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { SCOPES } from '../../../src/access/scopes.js';
import { MailServer } from '../../support/servers/mail-server.js';
import { type CommandResult, runCli, commandRunner } from '../../support/service/cli.js';
import { ApiClient } from '../../../src/testing/api-client.js';
import { checkRows } from '../../support/check-rows.js';
import { expectError } from '../../support/http/expect-errors.js';
import { useService } from '../../../src/testing/test-service.js';
import { ACCOUNT, CREATED_API_KEY, SINGLE_API_KEY } from '../../support/http/response-shapes.js';

/** What an operator sees of an account: what clients see, and the limits in force. */
const FREE_QUOTAS = {
  stored_bytes: 2 ** 30,
  audio_seconds_per_month: 36_000,
  queued_audio_seconds: 7200,
  concurrent_uploads: 2,
};
const PRO_QUOTAS = {
  stored_bytes: 100 * 2 ** 30,
  audio_seconds_per_month: 1_800_000,
  queued_audio_seconds: 72_000,
  concurrent_uploads: 8,
};
const OPERATOR_ACCOUNT = {
  ...ACCOUNT,
  rate_limit: expect.any(Number),
  burst_limit: expect.any(Number),
  quotas: expect.objectContaining({ concurrent_uploads: expect.any(Number) }),
};
const UUID = /^[0-9a-f-]{36}$/;
const IN_A_YEAR = new Date(Date.now() + 365 * 86_400_000).toISOString();

describe('the command line (D30)', () => {
  const service = useService({ ROLES: 'api' });
  const { environment } = service;

  const runCommand = commandRunner();
  const run = (...args: string[]) => runCommand(environment, ...args);

  /** A command that succeeds: one JSON value on standard output, and nothing else anywhere. */
  async function json(...args: string[]) {
    const said = await run(...args, '--json');
    expect({ code: said.code, stderr: said.stderr }).toEqual({ code: 0, stderr: '' });
    expect(said.stdout).toMatch(/^\{.*\}\n$/);
    return JSON.parse(said.stdout);
  }

  const newClient = (id: string, key: string, secret: string) =>
    new ApiClient(service.url, id, { id: '', key, secret });

  function expectFailure({ code, stdout, stderr }: CommandResult, reason: RegExp): void {
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(reason);
    expect(stderr).not.toMatch(/\n\s+at /);
  }

  it('account:create makes an account on the free plan and its first key, which holds every scope', async () => {
    const created = await json('account:create', '--name', 'Example Ltd', '--email', 'ops@example.com');
    const { account, api_key: key, api_secret: secret, ...others } = created;

    expect(others).toEqual({ key_id: expect.stringMatching(UUID) });
    expect(account).toStrictEqual({
      ...OPERATOR_ACCOUNT,
      name: 'Example Ltd',
      email: 'ops@example.com',
      status: 'active',
      plan: 'free',
      rate_limit: 10,
      burst_limit: 20,
      quotas: FREE_QUOTAS,
    });
    const client = newClient(account.id, key, secret);
    const { body } = await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '10');
    const { rate_limit: _, burst_limit: __, quotas: ___, ...shown } = account;
    expect(body).toEqual(shown);
    const { body: keys } = await client.get('/v1/account/api-keys').expect(200);
    expect(keys.api_keys).toMatchObject([
      { id: others.key_id, scopes: [...SCOPES], status: 'active', key_prefix: key.slice(0, 12) },
    ]);
  });

  it('account:create takes a plan and limits (D5), and prints names and values', async () => {
    const options = ['--plan', 'enterprise', '--rate-limit', '7', '--burst-limit', '9'];
    const said = await run('account:create', '--name', 'Big Ltd', '--email', 'ops@big.example', ...options);

    expect(said).toMatchObject({ code: 0, stderr: '' });
    const told = (name: string) => new RegExp(`^ *${name}: (.*)$`, 'm').exec(said.stdout)?.[1] ?? '';
    expect([told('name'), told('plan')]).toEqual(['Big Ltd', 'enterprise']);
    const client = newClient(told('id'), told('api_key'), told('api_secret'));
    await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '7');
    await client.get(`/v1/account/api-keys/${told('key_id')}`).expect(200);
    expect(said.stdout).toContain('Store the secret now: it is shown only once.');
  });

  it('account:create refuses an e-mail address that an account has, unless --allow-duplicate-email is given', async () => {
    const args = ['account:create', '--name', 'Twice', '--email'];
    const { account } = await json(...args, 'twice@example.com');

    expectFailure(await run(...args, 'Twice@Example.com'), new RegExp(`${account.id}.*account:update`));
    const second = await json(...args, 'twice@example.com', '--allow-duplicate-email');
    expect(second.account.id).not.toBe(account.id);

    const atOnce = await Promise.all([1, 2, 3].map(() => runCli(environment, ...args, 'at-once@example.com')));
    expect(atOnce.filter(({ code }) => code === 0)).toHaveLength(1);
  });

  it('refuses limits that the plan would ignore (D5)', async () => {
    const create = ['account:create', '--name', 'x', '--email', 'limits@example.com', '--rate-limit', '5'];
    expectFailure(await run(...create, '--plan', 'free'), /--rate-limit.*need another plan, such as enterprise/);
    expectFailure(await run(...create), /plan free has fixed limits/);

    const { accountId } = await service.account('pro');
    const update = ['account:update', '--account', accountId, '--burst-limit', '5000'];
    expectFailure(await run(...update), /plan pro has fixed limits/);
    expect((await json(...update, '--plan', 'enterprise')).account).toMatchObject({ burst_limit: 5000 });
    expectFailure(await run(...update, '--plan', 'free'), /plan free has fixed limits/);
  });

  it('account:update changes what is given and nothing else, at once', async () => {
    const client = await service.account('free');
    const { body: before } = await client.get('/v1/account').expect(200);
    const { account } = await json('account:update', '--account', client.accountId, '--plan', 'pro', '--name', 'New');

    expect(account).toStrictEqual({
      ...OPERATOR_ACCOUNT,
      ...before,
      name: 'New',
      plan: 'pro',
      updated_at: ACCOUNT.updated_at,
      rate_limit: 100,
      burst_limit: 200,
      quotas: PRO_QUOTAS,
    });
    const { body } = await client.get('/v1/account').expect(200).expect('X-RateLimit-Limit', '100');
    expect(body).toMatchObject({ name: 'New', plan: 'pro', email: before.email });
  });

  it('account:update suspends an account and lets it back in (D4)', async () => {
    const client = await service.account();
    const set = (status: string) => json('account:update', '--account', client.accountId, '--status', status);

    expect((await set('suspended')).account.status).toBe('suspended');
    expectError(await client.get('/v1/account'), 'AccountSuspendedError');
    expect((await set('active')).account.status).toBe('active');
    await client.get('/v1/account').expect(200);
  });

  it('account:update sets quotas for this account, and gives them back to the plan (D32)', async () => {
    const client = await service.account('free');
    const update = ['account:update', '--account', client.accountId];
    const set = await json(...update, '--stored-bytes', '1000', '--queued-audio-seconds', 'unlimited');
    const quotas = { ...FREE_QUOTAS, stored_bytes: 1000, queued_audio_seconds: null };
    expect(set.account.quotas).toEqual(quotas);
    expect((await json(...update, '--concurrent-uploads', '5')).account.quotas).toEqual({
      ...quotas,
      concurrent_uploads: 5,
    });
    const { body } = await client.get('/v1/account/quotas').expect(200);
    expect(body.quotas.map(({ limit }: { limit: number | null }) => limit)).toEqual([1000, 36_000, null, 5]);
    const back = ['--stored-bytes', 'plan', '--queued-audio-seconds', 'plan', '--concurrent-uploads', 'plan'];
    expect((await json(...update, ...back)).account.quotas).toEqual(FREE_QUOTAS);
    expectFailure(await run(...update, '--stored-bytes', '-1'), /--stored-bytes.*must be an integer/);
  });

  it('account:update gives an account engines of its own, and takes them back', async () => {
    const client = await service.account();
    const update = ['account:update', '--account', client.accountId];
    const { account } = await json(...update, '--engines', '[{"name":"openai","max_seconds":60},"pocketsphinx"]');
    expect(account.engines).toEqual([{ name: 'openai', max_seconds: 60 }, { name: 'pocketsphinx' }]);
    expect((await client.get('/v1/account').expect(200)).body).not.toHaveProperty('engines');
    expectFailure(await run(...update, '--engines', 'whisper'), /whisper is not an engine\. Use .*openai/);
    expectFailure(await run(...update, '--engines', '[{"names":1}]'), /has an unknown key "names"/);
    expect((await json(...update, '--engines', 'default')).account).not.toHaveProperty('engines');
  });

  it('account:suspend holds the queue, or lets it finish, and a new status sets that back (D4)', async () => {
    const { accountId } = await service.account();
    const finishesQueue = async () => {
      const rows = await service.database.query('SELECT status, finish_queue FROM accounts WHERE id = $1', [accountId]);
      return rows[0];
    };
    const suspend = ['account:suspend', '--account', accountId];

    expect((await json(...suspend, '--finish-queue')).account.status).toBe('suspended');
    expect(await finishesQueue()).toEqual({ status: 'suspended', finish_queue: true });
    await json(...suspend);
    expect(await finishesQueue()).toEqual({ status: 'suspended', finish_queue: false });
    await json(...suspend, '--finish-queue');
    await json('account:update', '--account', accountId, '--status', 'active');
    expect(await finishesQueue()).toEqual({ status: 'active', finish_queue: false });
  });

  it('account:list shows every account', async () => {
    const clients = await Promise.all([service.account('pro'), service.account('free')]);
    const { accounts } = await json('account:list');

    const [stored] = await service.database.query<{ count: number }>('SELECT count(*)::int AS count FROM accounts');
    expect(accounts).toHaveLength(stored?.count as number);
    for (const account of accounts) expect(account).toStrictEqual(OPERATOR_ACCOUNT);
    const ids = accounts.map(({ id }: { id: string }) => id);
    expect(ids).toEqual(expect.arrayContaining(clients.map(({ accountId }) => accountId)));
  });

  it('account:list prints a table for people', async () => {
    const { accountId } = await service.account('pro');
    const { stdout } = await run('account:list');
    expect(stdout).toMatch(/^accounts:\n {2}id +name +email +plan +status +rate_limit +burst_limit +created_at\n/);
    expect(stdout).toMatch(new RegExp(`^ {2}${accountId} .* pro +active +100 +200 `, 'm'));
  });

  it('key:list shows the keys of one account that are not revoked, without secrets', async () => {
    const { accountId, credentials } = await service.account();
    const created = await json('key:create', '--account', accountId, '--name', 'Second');
    const { api_keys: keys } = await json('key:list', '--account', accountId);

    expect(keys).toStrictEqual([SINGLE_API_KEY, SINGLE_API_KEY]);
    expect(keys.map(({ id }: { id: string }) => id)).toEqual([created.id, credentials.id]);
    await json('key:revoke', '--key', created.id);
    const said = await run('key:list', '--account', accountId);
    expect(said.stdout).toContain(credentials.id);
    expect(said.stdout).not.toContain(created.id);
  });

  it('person:link lets the first owner of an account sign in, and gives an existing member another role', async () => {
    const { accountId } = await service.account();
    const member = ['--account', accountId, '--email', 'ada@example.com'];
    const { link, ...created } = await json('person:link', ...member, '--name', 'Ada Byron');
    expect(created).toMatchObject({ account_id: accountId, person_id: expect.stringMatching(UUID), role: 'owner' });
    expect(Date.parse(created.expires_at) - Date.now()).toBeLessThanOrEqual(86_400_000);
    const signedIn = await request(service.url).post('/v1/sessions').send({ link }).expect(201);
    expect(signedIn.body).toMatchObject({ person: { name: 'Ada Byron', email: 'ada@example.com' }, role: 'owner' });
    const again = await json('person:link', ...member, '--role', 'viewer');
    expect(again).toMatchObject({ person_id: created.person_id, role: 'viewer' });
    const asViewer = await request(service.url).post('/v1/sessions').send({ link: again.link }).expect(201);
    expect(asViewer.body).toMatchObject({ role: 'viewer', memberships: [{ account_id: accountId }] });
    expectFailure(await run('person:link', ...member, '--role', 'king'), /owner, admin, editor, viewer/);
    expectFailure(await run('person:link', '--account', randomUUID(), '--email', 'a@example.com'), /No such account/);
  });

  it('mail:test sends one mail, or says what is missing or refused', async () => {
    const server = await MailServer.listen();
    try {
      expectFailure(await run('mail:test', '--to', 'ops@example.com'), /Set SMTP_URL, SMTP_FROM and PUBLIC_URL/);
      const mail = {
        SMTP_URL: `smtp://127.0.0.1:${server.port}?tls=none`,
        SMTP_FROM: 'notes@example.com',
        PUBLIC_URL: 'https://notes.example.com',
      };
      const send = () =>
        runCommand({ variables: { ...environment.variables, ...mail } }, 'mail:test', '--to', 'ops@example.com');
      expect((await send()).stdout).toContain('ops@example.com');
      expect(server.to('ops@example.com')).toHaveLength(1);
      server.refusal = 550;
      expectFailure(await send(), /The mail was not taken: .*550/);
    } finally {
      await server.stop();
    }
  });

  it('key:create makes a key with every scope, in the shape of its creation (2.2)', async () => {
    const { accountId } = await service.account();
    const created = await json('key:create', '--account', accountId);

    expect(created).toStrictEqual({ ...CREATED_API_KEY, scopes: [...SCOPES] });
    await newClient(accountId, created.api_key, created.api_secret).get('/v1/account').expect(200);
  });

  it('key:create takes a name, scopes and an end', async () => {
    const owner = await service.account();
    const options = ['--name', 'Phone', '--scopes', 'recordings:write,recordings:read', '--expires-at', IN_A_YEAR];
    const created = await json('key:create', '--account', owner.accountId, ...options);

    expect(created).toMatchObject({ name: 'Phone', scopes: ['recordings:write', 'recordings:read'] });
    const { body } = await owner.get(created.uri).expect(200);
    expect(body).toMatchObject({ name: 'Phone', expires_at: IN_A_YEAR.slice(0, 19) });
  });

  it('key:revoke revokes a key at once, also the last one of an account, and prints its status (D12)', async () => {
    const client = await service.account();
    await client.get('/v1/account').expect(200);
    const revoked = await json('key:revoke', '--key', client.credentials.id);

    expect(revoked).toStrictEqual({ ...SINGLE_API_KEY, id: client.credentials.id, status: 'revoked' });
    expectError(await client.get('/v1/account'), 'AuthenticationError');
    expectFailure(await run('key:revoke', '--key', client.credentials.id, '--json'), /No such API key/);
  });

  it('key:revoke --descendants takes the keys along that the key made, and lists them (D36)', async () => {
    const client = await service.account();
    const make = async (by: ApiClient) => {
      const { body } = await by.post('/v1/account/api-keys', { name: 'A key' }).expect(201);
      return new ApiClient(service.url, client.accountId, {
        id: body.id,
        key: body.api_key,
        secret: body.api_secret,
      });
    };
    const child = await make(client);
    const grandchild = await make(child);
    const shown = await json('key:revoke', '--key', child.credentials.id, '--descendants');

    const { revoked_descendants: descendants, ...single } = shown;
    expect(single).toStrictEqual({ ...SINGLE_API_KEY, id: child.credentials.id, status: 'revoked' });
    expect(descendants).toEqual([grandchild.credentials.id]);
    expectError(await grandchild.get('/v1/account'), 'AuthenticationError');
    await client.get('/v1/account').expect(200);
  });

  describe('help and usage errors need no database', () => {
    const ofAccounts = ['account:create', 'account:update', 'account:suspend', 'account:purge', 'account:list'];
    const ofCounters = ['counters:verify', 'counters:rebuild', 'audit:verify'];
    const ofBackups = ['backup', 'backup:list', 'backup:verify', 'restore'];
    const names = [
      ...ofAccounts,
      ...ofBackups,
      'key:create',
      'key:list',
      'key:revoke',
      'secrets:rotate',
      'storage:encrypt',
      ...ofCounters,
    ];
    const bare = (...args: string[]) => runCommand({ variables: {} }, ...args);

    it('--help names every command, and that of a command its options, with exit code 0', () =>
      checkRows<[asked: string, says: RegExp[]]>(
        [
          ['--help', names.map((name) => new RegExp(name))],
          ['help', names.map((name) => new RegExp(name))],
          ...names.map((name): [string, RegExp[]] => [
            `${name} --help`,
            [new RegExp(`^Usage: admin ${name} [^]*--json`)],
          ]),
        ],
        async (asked, says) => {
          const { code, stdout, stderr } = await bare(...asked.split(' '));
          expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
          for (const pattern of says) expect(stdout).toMatch(pattern);
        },
      ));

    it('what is wrong is refused with exit code 1', () =>
      checkRows<[what: string, args: string[], reason: RegExp, others?: string[]]>(
        [
          ['no command', [], /Usage: admin/, names],
          ['an unknown command', ['account:delete', '--json'], /unknown command 'account:delete'/, names],
          ['a missing option', ['account:create', '--name', 'x'], /'--email <address>' not specified/],
          ['an unknown option', ['account:list', '--colour', 'red'], /--colour/],
          ['a stray argument', ['account:list', 'stray'], /too many arguments/],
          ['a repeated option', ['key:revoke', '--key', 'a', '--key', 'b'], /--key.*only once/],
          ['a broken value', ['account:create', '--name', 'x', '--email', 'ops'], /--email.*must be an e-mail address/],
        ],
        async (_, args, reason, others = []) => {
          const said = await bare(...args);
          expectFailure(said, reason);
          for (const name of others) expect(said.stderr).toContain(name);
        },
      ));
  });

  describe('prints errors to standard error, with exit code 1', () => {
    const nobody = randomUUID();
    const named = ['--name', 'x', '--email', 'a@b.co'];
    const limits = ['--plan', 'enterprise', '--rate-limit', '9', '--burst-limit', '8'];

    it('of what is asked for, and changes nothing', () =>
      checkRows<[what: string, args: string[], reason: RegExp]>(
        [
          ['a burst below the rate', ['account:create', ...named, ...limits], /burst/],
          ['an unknown account', ['account:update', '--account', nobody, '--name', 'x'], /No such account/],
          ['an id that is none', ['key:create', '--account', 'x'], /No such account/],
          ['an unknown key', ['key:revoke', '--key', nobody], /No such API key/],
        ],
        async (_, args, reason) => {
          const count = async () => (await service.database.query('SELECT id FROM accounts')).length;
          const before = await count();
          expectFailure(await run(...args, '--json'), reason);
          expect(await count()).toBe(before);
        },
      ));

    it('of the environment', () =>
      checkRows<[what: string, changes: Record<string, string>, reason: RegExp]>(
        [
          ['broken', { SECRET_KEY: '' }, /SECRET_KEY/],
          [
            'a database out of reach',
            { DATABASE_URL: 'postgres://127.0.0.1:1/none' },
            /^Cannot reach PostgreSQL at 127\.0\.0\.1:1 \(DATABASE_URL\)\.\n$/,
          ],
        ],
        async (_, changes, reason) => {
          const variables = { ...environment.variables, ...changes };
          expectFailure(await runCli({ variables }, 'account:list', '--json'), reason);
        },
      ));
  });
});
