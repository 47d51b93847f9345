import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, escapeLiteral } from 'pg';
import { grantsOf } from '../../src/migrations/grants.js';
import { readEnv } from '../../src/platform/config/env.js';
import { DATABASE_ROLES } from '../../src/platform/database/grants.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { call, nameOf, OPERATIONS, SharedResources } from '../support/http/operations.js';
import { ROOT } from '../support/paths.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { LinkSource } from '../support/servers/link-source.js';
import { ServiceProcess } from '../support/service/service-process.js';
import { runBuilt, runCli } from '../support/service/cli.js';

const ROLES = { owner: 'voice_notes_owner', ...DATABASE_ROLES };
type Role = keyof typeof ROLES;
const DENIED = '42501';
const SECRET = 'a secret that signs deliveries';
/** What a transcriber must not look at. */
const NO_KEY = { SECRET_KEY: '', SECRET_KEY_FILE: '/nowhere/secret-key', SECRET_KEY_PREVIOUS: 'too short' };

describe('a process for each role, with a database role of its own (D38)', () => {
  const observer = useService({ ROLES: 'api' });
  const { environment } = observer;
  const processes = {} as Record<keyof typeof DATABASE_ROLES, ServiceProcess>;
  let superuser: Client;
  let resources: SharedResources;

  const passwordOf = (role: string): string => `${role}'s "password"`;
  const urlOf = (role: Role): string => {
    const url = new URL(environment.variables.DATABASE_URL as string);
    url.username = ROLES[role];
    url.password = encodeURIComponent(passwordOf(role));
    return url.href;
  };
  const asOwner = () => ({ variables: { ...environment.variables, DATABASE_URL: urlOf('owner') } });

  /** Runs docker/roles.sql as psql does. */
  async function makeRoles(): Promise<void> {
    const script = await readFile(join(ROOT, 'docker', 'roles.sql'), 'utf8');
    const sql = script
      .replaceAll(/^\\getenv .*$/gm, '')
      .replaceAll(/:'(\w+)_password'/g, (_, role: string) => escapeLiteral(passwordOf(role)));
    await superuser.query(sql);
  }

  beforeAll(async () => {
    superuser = new Client({ connectionString: environment.variables.DATABASE_URL });
    await superuser.connect();
    environment.defer(() => superuser.end());
    // Twice: compose does so at every start.
    await makeRoles();
    await makeRoles();
    const migrated = await runBuilt(asOwner(), 'dist/commands/migrate.js');
    expect(migrated).toEqual({ code: 0, stdout: 'the schema is up to date\n', stderr: '' });
    resources = new SharedResources(observer, await observer.account());
    await start('api');
  });

  async function start(role: keyof typeof DATABASE_ROLES): Promise<void> {
    const variables = { DATABASE_URL: urlOf(role), LOG_LEVEL: 'trace', WEBHOOK_RETRY_SCHEDULE: '1' };
    const own = role === 'transcriber' ? { ...variables, ...NO_KEY } : variables;
    processes[role] = await ServiceProcess.start(environment, role, own);
  }

  it('lets each role wait for the schema, and the transcriber without a SECRET_KEY', async () => {
    for (const role of ['api', 'transcriber', 'deliverer'] as const) {
      const own = role === 'transcriber' ? NO_KEY : {};
      const variables = { ...environment.variables, ROLES: role, DATABASE_URL: urlOf(role), ...own };
      const waited = await runBuilt({ variables }, 'dist/commands/migrate.js', '--wait', '30');
      expect({ role, ...waited }).toEqual({ role, code: 0, stdout: 'the schema is up to date\n', stderr: '' });
    }
  });

  it('has a line of grants for every table', async () => {
    const tables = await observer.database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
    );
    const names = Object.keys(grantsOf(environment.extensions)).toSorted();
    expect(names).toEqual(tables.map(({ name }) => name).toSorted());
  });

  it('takes nothing from a newer release when this one is rolled back to, and everything that is too much otherwise', async () => {
    const newest = { name: 'OfANewerRelease1999999999999', timestamp: '1999999999999' };
    const mayDelete = async (): Promise<boolean> => {
      const [row] = await observer.database.query<{ may: boolean }>(
        `SELECT has_table_privilege('${ROLES.api}', 'api_keys', 'DELETE') AS may`,
      );
      return row?.may ?? false;
    };
    await superuser.query('INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [newest.timestamp, newest.name]);
    await superuser.query(`GRANT DELETE ON api_keys TO ${ROLES.api}`);
    expect((await runBuilt(asOwner(), 'dist/commands/migrate.js')).code).toBe(0);
    expect(await mayDelete()).toBe(true);
    await superuser.query('DELETE FROM migrations WHERE name = $1', [newest.name]);
    expect((await runBuilt(asOwner(), 'dist/commands/migrate.js')).code).toBe(0);
    expect(await mayDelete()).toBe(false);
  });

  const FORBIDDEN: Record<Role, string[]> = {
    transcriber: [
      'SELECT 1 FROM api_keys',
      'SELECT encrypted_secret FROM webhooks',
      'SELECT url FROM webhooks',
      'SELECT email FROM accounts',
      'SELECT body FROM events',
      'SELECT 1 FROM idempotency_keys',
      `UPDATE accounts SET plan = 'enterprise'`,
      `UPDATE recordings SET object_key = 'x'`,
      'DELETE FROM recordings',
      'DELETE FROM events',
    ],
    deliverer: [
      'SELECT 1 FROM api_keys',
      'SELECT email FROM accounts',
      `UPDATE webhooks SET url = 'http://x.example'`,
      `UPDATE transcriptions SET text = ''`,
    ],
    api: [
      `INSERT INTO accounts (id) VALUES (gen_random_uuid())`,
      `UPDATE accounts SET plan = 'enterprise'`,
      'DELETE FROM api_keys',
      'TRUNCATE recordings',
      'CREATE TABLE mine ()',
      'CREATE TEMP TABLE mine ()',
      'ALTER TABLE recordings DISABLE TRIGGER ALL',
      'DELETE FROM migrations',
      `COPY (SELECT 1) TO PROGRAM 'true'`,
    ],
    owner: [`COPY (SELECT 1) TO PROGRAM 'true'`, 'CREATE ROLE another'],
  };

  it.each(Object.keys(FORBIDDEN) as Role[])('forbids the %s what it does not need', async (role) => {
    const client = new Client({ connectionString: urlOf(role) });
    await client.connect();
    for (const statement of FORBIDDEN[role]) {
      const code = await client.query(statement).then(
        () => 'permitted',
        (error: { code: string }) => error.code,
      );
      expect([statement, code]).toEqual([statement, DENIED]);
    }
    await client.end();
  });

  const WAITS = new Set(['POST /v1/audio/transcriptions', 'POST /v1/audio/translations']);

  it.each(
    OPERATIONS.filter((operation) => !WAITS.has(nameOf(operation))).map(
      (operation) => [nameOf(operation), operation] as const,
    ),
  )('permits the api: %s', async (_, operation) => {
    const { owner, ids } = await resources.forSuccess(operation);
    const answer = await call(owner.at(processes.api.url), operation, ids);
    expect([answer.status, answer.body.error]).toEqual([operation.success, undefined]);
  });

  it('permits all that happens to a recording, and the rounds of the reconciler', async () => {
    const client = (await observer.account()).at(processes.api.url);
    const receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    receiver.answerNext({ status: 500 });
    const webhook = { url: receiver.url(), events: ['recording.transcribed'], secret: SECRET };
    await client.post('/v1/webhooks', webhook).expect(201);
    const id = await uploadAsEndUser(client);
    // Its decoded length is more than that, so that the quotas are looked at again.
    await superuser.query('UPDATE recordings SET duration_ms = 300 WHERE id = $1', [id]);
    await Promise.all([start('transcriber'), start('deliverer')]);
    expect(await client.finished(id)).toMatchObject({ status: 'transcribed', duration_seconds: 2.786 });
    await eventually(() => receiver.requests.length === 2);
    expect(receiver.requests.flatMap((request) => signatureProblems(request, SECRET))).toEqual([]);
    await changeAndErase(client, id);
    await cleanedUp();

    const fields = ['--name', 'Acme', '--email', 'ops@acme.example'];
    expect(await runCli(asOwner(), 'account:create', ...fields)).toMatchObject({ code: 0, stderr: expect.any(String) });

    expectNothingDenied();
  });

  it('permits to fetch links, and to delete callbacks with their recordings', async () => {
    const client = (await observer.account()).at(processes.api.url);
    const source = await LinkSource.listen();
    environment.defer(() => source.close());
    const wav = silenceWav(0.5);
    const callback = { callback_url: 'http://127.0.0.1:9/', callback_secret: SECRET };
    const asEndUser = await accessTokenOf(client, 'user-2');
    const post = async (path: string) => {
      const url = source.serve(path, (_, response) => void response.writeHead(path === '/gone' ? 404 : 200).end(wav));
      const uploading = client.post('/v1/recordings', { url, ...callback }).set('Authorization', asEndUser);
      for (const name of Object.keys(client.headers)) uploading.unset(name);
      return (await uploading.expect(201)).body.id as string;
    };
    const ids = [await post('/there'), await post('/gone')];
    const ends = await Promise.all(ids.map((id) => client.finished(id)));
    expect(ends.map(({ status, user_id: user }) => [status, user])).toEqual([
      ['transcribed', 'user-2'],
      ['failed', 'user-2'],
    ]);
    await client.delete('/v1/users/user-2').expect(202);
    await eventually(async () => {
      const left = await observer.database.query('SELECT 1 FROM webhooks WHERE account_id = $1', [client.accountId]);
      return left.length === 0;
    }, 60_000);
    expectNothingDenied();
  });

  function expectNothingDenied(): void {
    for (const [role, instance] of Object.entries(processes)) {
      const denied = instance
        .log()
        .split('\n')
        .filter((line) => /permission denied|42501/.test(line));
      expect([role, denied]).toEqual([role, []]);
    }
  }

  async function accessTokenOf(client: ApiClient, identity: string): Promise<string> {
    const { body: issued } = await client.post('/v1/account/access-tokens', { identity }).expect(201);
    return `Bearer ${issued.token as string}`;
  }

  async function uploadAsEndUser(client: ApiClient): Promise<string> {
    const asEndUser = await accessTokenOf(client, 'user-1');
    const uploading = client.upload('go-forward-ten-meters.wav').set('Authorization', asEndUser);
    for (const name of Object.keys(client.headers)) uploading.unset(name);
    return (await uploading.expect(201)).body.id as string;
  }

  async function changeAndErase(client: ApiClient, id: string): Promise<void> {
    const of = `/v1/recordings/${id}`;
    await client.put(`${of}/transcription`, { text: 'Go forward nine metres' }).expect(200);
    await client.post(`${of}/transcribe`, {}).expect(202);
    await eventually(async () => (await client.get(`${of}/transcriptions`)).body.total === 2, 60_000);
    expect((await client.get('/v1/recordings?q=metres').expect(200)).body.total).toBe(1);
    await client.delete('/v1/users/user-1').expect(202);
  }

  /** The reconciler empties these. */
  async function cleanedUp(): Promise<void> {
    await eventually(async () => {
      const [row] = await observer.database.query<{ left: number }>(
        `SELECT ((SELECT count(*) FROM user_erasures) + (SELECT count(*) FROM usage_counter_deltas)
           + (SELECT count(*) FROM object_removals WHERE remove_after <= now()) + (SELECT count(*) FROM events WHERE sequence IS NULL))::int AS left`,
      );
      return row?.left === 0;
    }, 60_000);
  }

  const reportOf = async ({ url }: ServiceProcess) =>
    (await (await fetch(`${url}/health/ready`)).json()) as { status: string; checks: object };

  it('requires an engine of the transcriber only', async () => {
    const hasEngine = async (process: ServiceProcess) => 'engine' in (await reportOf(process)).checks;
    const { transcriber, deliverer, api } = processes;
    expect(await Promise.all([transcriber, deliverer, api].map(hasEngine))).toEqual([true, false, false]);
  });

  it('tells who waits for an engine that no running worker has (D67)', async () => {
    const client = (await observer.account()).at(processes.api.url);
    const other = (await observer.account()).at(processes.api.url);
    const waitingFor = async (by: ApiClient, id: string): Promise<unknown> => {
      const { body } = await by.get(`/v1/recordings/${id}?include=waiting_for`).expect(200);
      return (body as { waiting_for: unknown }).waiting_for;
    };
    const setEngines = (json: string) =>
      observer.database.query('UPDATE accounts SET engines = $2::jsonb WHERE id = $1', [client.accountId, json]);
    await setEngines('[{"name":"absent"},{"name":"missing","languages":["german"]}]');
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    const { body: served } = await other.upload('go-forward-ten-meters.wav').expect(201);
    await eventually(async () => (await waitingFor(client, body.id)) === 'engine');
    expect(await waitingFor(other, served.id)).toBeNull();

    // Nobody is told of what has waited for less than a minute.
    await observer.database.query(`UPDATE recordings SET created_at = now() - interval '61 s' WHERE id = $1`, [
      body.id,
    ]);
    const waiting_for_engine = '1 recordings wait for an engine that no running worker has';
    for (const process of Object.values(processes)) {
      const report = await eventually(async () => {
        const found = await reportOf(process);
        return found.status === 'degraded' && found;
      });
      expect(report).toMatchObject({ checks: { waiting_for_engine } });
    }
    const metrics = await (await fetch(`${processes.api.url}/metrics`)).text();
    expect(metrics).toMatch(/^recordings_waiting_for_engine 1$/m);

    await setEngines('[{"name":"pocketsphinx"}]');
    expect(await waitingFor(client, body.id)).toBeNull();
  });

  it('serves only health and figures as transcriber and deliverer (D31)', async () => {
    const served = ['/health/live', '/health/ready', '/metrics'];
    const unknown = ['/', '/docs', '/openapi.json', '/v1', '/v1/account', '/v1/recordings', '/health', '/metrics/'];
    for (const { url } of [processes.transcriber, processes.deliverer]) {
      const statusOf = async (path: string) => [path, (await fetch(url + path)).status];
      const statuses = await Promise.all([...served, ...unknown].map(statusOf));
      expect(statuses).toEqual([...served.map((path) => [path, 200]), ...unknown.map((path) => [path, 404])]);
    }
  });

  it.each([
    ['api', []],
    ['transcriber', ['transcription_recordings']],
    [
      'deliverer',
      [
        'deliveries_waiting_seconds',
        'audit_unsealed_seconds',
        'reconciler_last_round_timestamp_seconds',
        'accounts_near_quota{plan="free",quota="stored_bytes",percent="80"}',
      ],
    ],
  ] as const)('%s shows the figures of Postgres that its rights let it read', async (role, own) => {
    await observer.account('free');
    const all = ['recordings_waiting', 'recordings_unprocessed_seconds{plan="free"}', 'health_check{check="postgres"}'];
    await eventually(async () => {
      const text = await (await fetch(`${processes[role].url}/metrics`)).text();
      return [...all, ...own].every((name) => text.includes(`\n${name} `));
    });
  });

  it('does not start without SECRET_KEY, but as transcriber', async () => {
    const missing = 'Invalid environment variables:\n  SECRET_KEY is required';
    const variables = { ...environment.variables, SECRET_KEY: '' };
    for (const roles of ['api', 'deliverer', 'worker', 'transcriber,api']) {
      expect(() => readEnv({ ...variables, ROLES: roles })).toThrow(new Error(missing));
    }
    const { code, stderr } = await runBuilt({ variables: { ...variables, ROLES: 'transcriber,api' } }, 'dist/main.js');
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${missing}\n` });
  });
});
