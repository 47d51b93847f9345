import request from 'supertest';
import { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { ServiceProcess } from '../support/service/service-process.js';
import { runCli } from '../support/service/cli.js';

type Line = Record<string, unknown> & { msg: string };

const parse = (text: string): Line[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
const withoutTime = ({ time: _time, pid: _pid, level: _level, ...fields }: Line) => fields;
const securityOf = (text: string) =>
  parse(text)
    .filter(({ log }) => log === 'security')
    .map(withoutTime);

describe('what the log tells of credentials', () => {
  const environment = useEnvironment();
  let built: ServiceProcess;
  let client: ApiClient;
  let said: string;

  beforeAll(async () => {
    // Commands log to standard error, and read LOG_LEVEL like the service.
    environment.variables.LOG_LEVEL = 'info';
    built = await ServiceProcess.start(environment, 'api');
    const options = ['--name', 'Somebody', '--email', 'somebody@example.com', '--plan', 'enterprise', '--json'];
    const { stdout, stderr } = await runCli(environment, 'account:create', ...options);
    const { account, key_id: id, api_key: key, api_secret: secret } = JSON.parse(stdout);
    client = new ApiClient(built.url, account.id, { id, key, secret });
    said = stderr;
  });

  it('account, key and token are in each line of a request, and no identity', async () => {
    const { body: token } = await client.post('/v1/account/access-tokens', { identity: 'somebody@example.com' });
    const { jti } = JSON.parse(Buffer.from((token.token as string).split('.')[1] as string, 'base64url').toString());
    const sent: [string, Record<string, string>, number][] = [
      ['by-key', client.headers, 201],
      ['by-token', { Authorization: `Bearer ${token.token}` }, 201],
      ['by-both', { ...client.headers, Authorization: `Bearer ${token.token}` }, 201],
      ['by-nobody', {}, 401],
    ];
    for (const [id, headers, status] of sent) {
      await request(built.url)
        .post('/v1/recordings')
        .set({ ...headers, 'X-Request-Id': id })
        .attach('file', silenceWav(0.1), 'note.wav')
        .expect(status);
    }
    const ids = { account_id: client.accountId, key_id: client.credentials.id };
    const expected = { 'by-key': ids, 'by-token': { ...ids, token_id: jti }, 'by-both': { ...ids, token_id: jti } };
    const lineOf = (id: string) =>
      parse(built.log()).find(({ request_id, msg }) => request_id === id && msg === 'answered');
    for (const [id, fields] of Object.entries(expected)) {
      const { account_id, key_id, token_id } = await untilThere(() => lineOf(id));
      expect({ account_id, key_id, token_id }).toEqual({ token_id: undefined, ...fields });
    }
    expect(Object.keys(await untilThere(() => lineOf('by-nobody')))).not.toContain('account_id');
  });

  it('changes of keys, tokens and webhooks are security events, with who did it', async () => {
    const { body: key } = await client.post('/v1/account/api-keys', { name: 'A key', scopes: ['recordings:read'] });
    await client.delete(`/v1/account/api-keys/${key.id}`).set('X-Request-Id', 'the-revocation').expect(204);
    await client.delete('/v1/account/access-tokens?identity=somebody').expect(204);
    const hook = { url: 'https://hooks.example.com/a-secret-path', events: ['recording.failed'] };
    const { body: webhook } = await client.post('/v1/webhooks', hook).expect(201);
    const changed = { ...hook, secret: 'a secret of another kind', status: 'disabled' };
    await client.put(`/v1/webhooks/${webhook.id}`, changed).expect(200);
    await client.delete(`/v1/webhooks/${webhook.id}`).expect(204);
    await client.get('/v1/account').set('X-Service-API-Secret', 'vns_wrong').expect(401);
    await built.end('SIGTERM');

    const by = {
      log: 'security',
      by: 'api_key',
      by_key_id: client.credentials.id,
      account_id: client.accountId,
      request_id: expect.any(String),
      address: expect.stringContaining('127.0.0.1'),
    };
    expect(securityOf(built.log())).toEqual([
      { ...by, token_id: expect.any(String), msg: 'access token created' },
      { ...by, key_id: key.id, scopes: ['recordings:read'], msg: 'api key created' },
      { ...by, key_id: key.id, request_id: 'the-revocation', msg: 'api key revoked' },
      { ...by, of_all_end_users: false, msg: 'access tokens voided' },
      { ...by, webhook_id: webhook.id, msg: 'webhook created' },
      { ...by, webhook_id: webhook.id, status: 'disabled', secret_sent: true, msg: 'webhook changed' },
      { ...by, webhook_id: webhook.id, msg: 'webhook deleted' },
      {
        log: 'security',
        key_pairs: 1,
        access_tokens: 0,
        sessions: 0,
        from_other_addresses: 0,
        addresses: 1,
        most: [{ address: expect.stringContaining('127.0.0.1'), count: 1 }],
        msg: 'credentials refused',
      },
    ]);
    expect(built.log()).not.toMatch(/somebody|a-secret-path/);
  });

  it('commands tell what an operator did on standard error, and their result on standard output', async () => {
    const [{ id: keyId }, accountId] = [client.credentials, client.accountId];
    const by = { log: 'security', by: 'operator', by_uid: process.getuid?.(), account_id: accountId };
    expect(securityOf(said)).toEqual([
      { ...by, msg: 'account created' },
      { ...by, key_id: keyId, scopes: expect.any(Array), msg: 'api key created' },
    ]);
    const update = await runCli(environment, 'account:update', '--account', accountId, '--email', 'b@example.com');
    expect(securityOf(update.stderr)).toEqual([{ ...by, fields: ['email'], msg: 'account changed' }]);
    const revoke = await runCli(environment, 'key:revoke', '--key', keyId, '--json');
    expect(securityOf(revoke.stderr)).toEqual([{ ...by, key_id: keyId, msg: 'api key revoked' }]);
    expect(JSON.parse(revoke.stdout)).toMatchObject({ id: keyId, status: 'revoked' });
    expect(said + update.stderr).not.toContain('example.com');
  });
});

/** Lines are written a few times a second. */
async function untilThere<T>(look: () => T | undefined): Promise<T> {
  return await eventually(() => look() ?? null);
}
