import request from 'supertest';
import { actAsOperator } from '../../src/access/acting.js';
import { AccountService } from '../../src/modules/account/account.service.js';
import { AuditLogService } from '../../src/modules/audit/audit-log.service.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { expectInvalid } from '../support/http/expect-errors.js';
import { call, nameOf, NAMED_OPERATIONS, SharedResources } from '../support/http/operations.js';
import { clientOf, linkFor, type SessionClient, signIn } from '../support/http/session-client.js';
import { commandRunner } from '../support/service/cli.js';
import { transcribesAtOnce } from '../support/service/instant-transcriber.js';
import { upload } from '../support/state/recording-states.js';

/** What each operation that changes something leaves. All others leave nothing. */
const ENTRIES: Record<string, string[]> = {
  'PUT /v1/account/audit-log/settings': ['audit_log.updated'],
  'PUT /v1/account/vocabulary': ['vocabulary.updated'],
  'PUT /v1/account/speakers': ['speakers.updated'],
  'PUT /v1/account/retention': ['retention.updated'],
  'POST /v1/account/export': ['account.exported'],
  'POST /v1/account/api-keys': ['api_key.created'],
  'DELETE /v1/account/api-keys/:key_id': ['api_key.revoked'],
  'DELETE /v1/account/access-tokens': ['access_tokens.voided'],
  'POST /v1/account/token-issuers': ['token_issuer.created'],
  'PUT /v1/account/token-issuers/:token_issuer_id': ['token_issuer.updated'],
  'DELETE /v1/account/token-issuers/:token_issuer_id': ['token_issuer.deleted'],
  'POST /v1/account/sign-in-codes': ['sign_in_code.created'],
  'POST /v1/webhooks': ['webhook.created'],
  'PUT /v1/webhooks/:webhook_id': ['webhook.updated'],
  'DELETE /v1/webhooks/:webhook_id': ['webhook.deleted'],
  'POST /v1/webhooks/:webhook_id/deliveries/:delivery_id/redeliver': ['delivery.redelivered'],
  'POST /v1/webhooks/:webhook_id/redeliver': ['webhook.redelivered'],
  'POST /v1/recordings': ['recording.uploaded'],
  'PATCH /v1/recordings/:recording_id': ['recording.updated'],
  'PUT /v1/recordings/:recording_id/transcription': ['transcription.corrected'],
  'DELETE /v1/recordings/:recording_id/transcription': ['transcription.correction_removed'],
  'POST /v1/recordings/:recording_id/transcribe': ['recording.transcribed_again'],
  'POST /v1/recordings/:recording_id/retry': ['recording.retried'],
  'DELETE /v1/recordings/:recording_id': ['recording.deleted'],
  'PUT /v1/recordings/:recording_id/hold': ['recording.held'],
  'DELETE /v1/recordings/:recording_id/hold': ['recording.released'],
  'POST /v1/recordings/:recording_id/shares': ['share.created'],
  'DELETE /v1/recordings/:recording_id/shares/:share_id': ['share.deleted'],
  'DELETE /v1/users/:user_id': ['user.erased'],
  'POST /v1/audio/transcriptions': ['recording.uploaded'],
  'POST /v1/audio/translations': ['recording.uploaded'],
};

interface Entry {
  number: number;
  id: string;
  action: string;
  outcome: string;
  actor: Record<'key_id' | 'person_id' | 'person_name' | 'token_id' | 'user_id', string | null> & { kind: string };
  targets: { type: string; id: string }[];
  address: string | null;
  user_agent: string | null;
  request_id: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  hash: string;
}

describe('the audit log (D98)', () => {
  const service = useService({ ROLES: 'api' }, { extensions: [transcribesAtOnce] });
  const run = commandRunner();
  const LOG = '/v1/account/audit-log';
  let owner: ApiClient;
  let resources: SharedResources;

  beforeAll(async () => {
    owner = await service.account();
    resources = new SharedResources(service, owner);
  });

  const read = async (client: ApiClient, query = ''): Promise<{ entries: Entry[]; total: number }> =>
    (await client.get(`${LOG}${query}`).expect(200)).body as { entries: Entry[]; total: number };
  const verify = async ({ accountId }: ApiClient) => {
    const { code, stdout } = await run(service.environment, 'audit:verify', '--account', accountId, '--json');
    return { code, result: JSON.parse(stdout) as { broken: object[]; entries_verified: number } };
  };

  it('has its operations in the table of the router', () => {
    const names = new Set(NAMED_OPERATIONS.map(([name]) => name));
    expect(Object.keys(ENTRIES).filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(NAMED_OPERATIONS)('has exactly the entries of %s', async (name, operation) => {
    const { owner: account, ids } = await resources.forSuccess(operation);
    const client = await service.key(account, [operation.scope, ...(operation.alsoScopes ?? [])]);
    const [last] = (await read(account)).entries;
    const answer = await call(client, operation, ids).set('X-Request-Id', 'a-request').set('User-Agent', 'a-client');
    expect(answer.status).toBe(operation.success);
    const { entries } = await read(account);
    const added = entries.slice(0, last ? entries.findIndex(({ id }) => id === last.id) : undefined);
    expect([nameOf(operation), added.map(({ action }) => action)]).toEqual([name, ENTRIES[name] ?? []]);
    for (const entry of added) {
      expect(entry).toMatchObject({ outcome: 'success', request_id: 'a-request', user_agent: 'a-client' });
      expect(entry.actor).toEqual({
        kind: 'api_key',
        key_id: client.credentials.id,
        person_id: null,
        person_name: null,
        token_id: null,
        user_id: null,
      });
      expect(entry.address).toMatch(/127\.0\.0\.1$/);
      expect(entry.targets.length).toBeGreaterThan(0);
    }
    // Whatever the answer shows once, and whatever was sent as the content of a recording.
    const secrets = [answer.body.secret, answer.body.api_secret, answer.body.url?.split('#')[1], answer.body.code];
    const told = [...secrets, client.credentials.secret, 'north gate', 'T-1042', 'Hello, there.', 'Complaint C-1042'];
    const text = JSON.stringify(added.map(({ before, after, targets }) => [before, after, targets]));
    for (const value of told) if (typeof value === 'string' && value.length > 5) expect(text).not.toContain(value);
  });

  it('shows what differs, without secrets and paths of URLs', async () => {
    const client = await service.account();
    const hook = { url: 'https://hooks.example.com/a-secret-path', events: ['recording.transcribed'] };
    const { body } = await client.post('/v1/webhooks', hook).expect(201);
    const changed = {
      ...hook,
      url: 'https://hooks.example.com/another-path',
      secret: 'a new secret for hooks',
      status: 'disabled',
    };
    await client.put(`/v1/webhooks/${body.id}`, changed).expect(200);
    await client.put('/v1/account/vocabulary', { vocabulary: ['Grafana'] }).expect(200);
    const { entries } = await read(client);
    expect(entries[0]).toMatchObject({ before: { vocabulary: [] }, after: { vocabulary: ['Grafana'] } });
    const url = 'https://hooks.example.com';
    expect(entries[1]).toMatchObject({
      before: { url, status: 'active', secret: 'changed' },
      after: { url, status: 'disabled', secret: 'changed' },
      targets: [{ type: 'webhook', id: body.id }],
    });
    expect(entries[1]?.after).not.toHaveProperty('events');
    expect(JSON.stringify(entries)).not.toMatch(/a-secret-path|another-path|a new secret|whsec_/);
  });

  it('knows end users by their tokens, until they are erased, and the chain holds all the same', async () => {
    const client = await service.account();
    const created = await client.post('/v1/account/access-tokens', { identity: 'ada@example.com' }).expect(201);
    const token = { Authorization: `Bearer ${created.body.token ?? created.body.access_token}` };
    const operation = NAMED_OPERATIONS.find(([name]) => name === 'POST /v1/recordings')?.[1];
    if (!operation) throw new Error('no such operation');
    await call({ url: service.url, headers: token }, operation, {} as never).expect(201);
    const [uploaded] = (await read(client, '?action=recording.uploaded')).entries;
    expect(uploaded?.actor).toMatchObject({
      kind: 'access_token',
      key_id: client.credentials.id,
      user_id: 'ada@example.com',
    });
    await client.delete('/v1/users/ada@example.com').expect(202);
    const { entries } = await read(client);
    expect(entries.map(({ action }) => action)).toEqual(
      ['recording.deleted', 'user.erased', 'recording.uploaded'].concat(entries.slice(3).map(({ action }) => action)),
    );
    expect(entries[2]).toMatchObject({
      actor: { user_id: null },
      address: null,
      user_agent: null,
      hash: uploaded?.hash,
    });
    const stored = await service.database.query('SELECT * FROM audit_entries WHERE account_id = $1', [
      client.accountId,
    ]);
    expect(JSON.stringify(stored)).not.toContain('ada@example.com');
    expect((await service.app.get(AuditLogService).verify(client.accountId)).broken).toBeNull();
  });

  describe('of people', () => {
    const PASSWORD = 'three blue kites over Oslo';
    const NEW_PASSWORD = 'four red kites over Bergen';
    const ADA = { email: 'ada.byron@example.com', role: 'owner' } as const;
    // Without those of making the account and its key.
    const actionsOf = async (client: ApiClient) =>
      (await read(client)).entries.map(({ action }) => action).slice(0, -2);
    const actorOf = ({ session }: SessionClient) => ({
      kind: 'person',
      key_id: null,
      person_id: session.person.id,
      person_name: 'Ada Byron',
      token_id: null,
      user_id: null,
    });

    it('has exactly the entries of each operation of a session', async () => {
      const [client, other] = [await service.account(), await service.account()];
      const ada = await actAsOperator(() => signIn(service, client.accountId, ADA));
      expect(await actionsOf(client)).toEqual(['session.begun', 'sign_in_link.created', 'member.added']);
      const { entries: first } = await read(client);
      expect(first[0]).toMatchObject({
        actor: actorOf(ada),
        targets: [{ type: 'session', id: ada.session.id }],
        after: { with: 'link' },
      });
      expect(first[0]?.address).toMatch(/127\.0\.0\.1$/);
      expect(first[2]).toMatchObject({
        actor: { kind: 'operator' },
        targets: [{ type: 'person', id: ada.session.person.id }],
        after: { role: 'owner' },
      });

      const added = async (change: () => Promise<unknown>, account = client) => {
        const before = (await read(account)).total;
        await change();
        const { entries, total } = await read(account);
        return entries.slice(0, total - before).map(({ action, actor, after }) => [action, actor.kind, after]);
      };
      const person = (body: object) => ada.send('patch', '/v1/session/person', body).expect(200);
      const update = (...fields: string[]) => ['person.updated', 'person', { fields }];
      expect(await added(() => ada.get('/v1/session').expect(200))).toEqual([]);
      expect(await added(() => ada.get('/v1/sessions').expect(200))).toEqual([]);
      expect(await added(() => person({ name: 'Ada Byron' }))).toEqual([]);
      expect(await added(() => person({ password: PASSWORD }))).toEqual([update('password')]);
      const names = { name: 'Ada Lovelace', email: 'ada.lovelace@example.com', current_password: PASSWORD };
      expect(await added(() => person(names))).toEqual([update('name', 'email')]);
      expect((await read(client)).entries[0]?.actor).toEqual({ ...actorOf(ada), person_name: 'Ada Lovelace' });

      const again = async () =>
        clientOf(
          service.url,
          await request(service.url).post('/v1/sessions').send({ email: names.email, password: PASSWORD }).expect(201),
        );
      let second = await again();
      expect((await read(client)).entries[0]).toMatchObject({ action: 'session.begun', after: { with: 'password' } });
      const end = async () => await ada.send('delete', `/v1/sessions/${second.session.id}`).expect(204);
      expect(await added(end)).toEqual([['session.ended', 'person', null]]);
      second = await again();
      // The other session ends with the password.
      expect((await added(() => person({ password: NEW_PASSWORD }))).map(([action]) => action)).toEqual([
        'session.ended',
        'person.updated',
      ]);

      await service.database.query(
        `INSERT INTO memberships (id, account_id, person_id, role, created_at, updated_at)
         SELECT gen_random_uuid(), $1, person_id, role, now(), now() FROM memberships WHERE account_id = $2`,
        [other.accountId, client.accountId],
      );
      // One that began with a link does not switch.
      await service.database.query(`UPDATE sessions SET began_with = 'password' WHERE id = $1`, [ada.session.id]);
      const switchTo = async ({ accountId }: ApiClient) =>
        await ada.send('patch', '/v1/session', { account_id: accountId }).expect(200);
      expect(await added(() => switchTo(client))).toEqual([]);
      expect(await added(() => switchTo(other))).toEqual([['session.ended', 'person', null]]);
      expect(await added(() => person({ name: 'A. Lovelace' }), other)).toEqual([update('name')]);
      expect((await read(client)).entries[0]).toMatchObject({ action: 'person.updated' });
      const signOut = async () => await ada.send('delete', '/v1/session').expect(204);
      expect(await added(signOut, other)).toEqual([['session.ended', 'person', null]]);
      expect(await actionsOf(other)).toEqual(['session.ended', 'person.updated', 'session.begun']);

      const stored = JSON.stringify(await service.database.query('SELECT * FROM audit_entries'));
      for (const told of [PASSWORD, NEW_PASSWORD, 'Lovelace', 'Byron', 'lovelace@', 'vnl_', 'vnss_'])
        expect(stored).not.toContain(told);
      for (const { accountId } of [client, other])
        expect((await service.app.get(AuditLogService).verify(accountId)).broken).toBeNull();
    });

    it('knows who changed something in a session, whatever the credential', async () => {
      const client = await service.account();
      const ada = await signIn(service, client.accountId, ADA);
      await ada.send('put', '/v1/account/vocabulary', { vocabulary: ['Grafana'] }).expect(200);
      await client.put('/v1/account/vocabulary', { vocabulary: ['Loki'] }).expect(200);
      const { entries } = await read(client, `?actor=${ada.session.person.id}&action=vocabulary.updated`);
      expect(entries).toMatchObject([{ actor: actorOf(ada), after: { vocabulary: ['Grafana'] } }]);
      await linkFor(service, client.accountId, { ...ADA, role: 'viewer' });
      expect((await read(client, '?action=member.updated')).entries).toMatchObject([
        { before: { role: 'owner' }, after: { role: 'viewer' } },
      ]);
      await ada.get(LOG).expect(403);
    });
  });

  it('is filtered by action, actor, target and day, and is nobody else’s', async () => {
    const [client, stranger] = [await service.account(), await service.account()];
    const other = await service.key(client, ['recordings:write', 'recordings:read']);
    const id = await upload(client);
    await other.patch(`/v1/recordings/${id}`, { title: 'A title' }).expect(200);
    await actAsOperator(() => service.app.get(AccountService).update(client.accountId, { name: 'Renamed' }));
    const actions = async (query: string) => (await read(client, query)).entries.map(({ action }) => action);
    expect(await actions(`?target=${id}`)).toEqual(['recording.updated', 'recording.uploaded']);
    expect(await actions('?action=recording.updated')).toEqual(['recording.updated']);
    expect(await actions(`?actor=${other.credentials.id}`)).toEqual(['recording.updated']);
    expect(await actions('?actor=operator')).toEqual(['account.updated']);
    expect(await actions('?date_to=2020-01-01')).toEqual([]);
    expect(await actions('?date_from=2020-01-01&limit=1')).toEqual(['account.updated']);
    expect((await read(client, '?actor=operator')).entries[0]).toMatchObject({ after: { name: 'Renamed' } });
    expect((await read(stranger, `?target=${id}`)).total).toBe(0);
    expectInvalid(await client.get(`${LOG}?date_from=2026-01-02&date_to=2026-01-01`), 'date_from');
    await other.get(LOG).expect(403);
  });

  it('is numbered without a gap by changes and readers at the same time', async () => {
    const client = await service.account();
    const audio = silenceWav(0.1);
    await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        await client.upload(audio, { title: `Note ${i}` }).expect(201);
        await read(client);
      }),
    );
    const { entries, total } = await read(client);
    expect(entries.map(({ number }) => number)).toEqual(Array.from({ length: total }, (_, i) => total - i));
    expect(await service.app.get(AuditLogService).verify(client.accountId)).toMatchObject({
      broken: null,
      entries: total,
    });
  });

  describe('audit:verify', () => {
    const withEntries = async () => {
      const client = await service.account();
      for (const term of ['a', 'b', 'c', 'd']) {
        await client.put('/v1/account/vocabulary', { vocabulary: [`Term ${term}`] }).expect(200);
      }
      return { client, entries: (await read(client)).entries };
    };
    const change = async (client: ApiClient, sql: string, number: number) =>
      await service.database.query(`${sql} WHERE account_id = $1 AND number = $2`, [client.accountId, number]);

    it('follows a whole chain', async () => {
      const { client, entries } = await withEntries();
      expect(await verify(client)).toMatchObject({ code: 0, result: { broken: [], entries_verified: entries.length } });
    });

    it.each([
      ['an entry that was changed', `UPDATE audit_entries SET after = '{"vocabulary":[]}'`, 3, 'changed'],
      ['an address that was changed', `UPDATE audit_entries SET address = '203.0.113.9'`, 3, 'changed'],
      ['an actor that was changed', `UPDATE audit_entries SET key_id = 'x'`, 2, 'changed'],
      ['an entry that was deleted', 'DELETE FROM audit_entries', 3, 'missing'],
    ])('names %s', async (_, sql, number, problem) => {
      const { client, entries } = await withEntries();
      const id = problem === 'missing' ? null : entries.find((entry) => entry.number === number)?.id;
      await change(client, sql, number);
      const { code, result } = await verify(client);
      expect([code, result.broken]).toEqual([1, [{ account_id: client.accountId, number, id, problem }]]);
    });

    it('names the last entry when that was deleted, and one that was added', async () => {
      const { client, entries } = await withEntries();
      const last = entries[0] as Entry;
      await change(client, 'DELETE FROM audit_entries', last.number);
      const broken = async () => (await service.app.get(AuditLogService).verify(client.accountId)).broken;
      expect(await broken()).toEqual({ number: last.number, id: null, problem: 'missing' });

      const added = await withEntries();
      const { accountId } = added.client;
      const [first] = added.entries as [Entry];
      await service.database.query(
        `INSERT INTO audit_entries (id, account_id, number, previous_hash, hash, at, action, outcome, actor_kind, targets)
         SELECT gen_random_uuid(), account_id, number + 1, hash, 'x', at, action, outcome, actor_kind, targets
         FROM audit_entries WHERE account_id = $1 AND number = $2`,
        [accountId, first.number],
      );
      expect((await service.app.get(AuditLogService).verify(accountId)).broken).toMatchObject({
        number: first.number + 1,
        problem: 'unexpected',
      });
    });
  });
});
