import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, escapeLiteral } from 'pg';
import { grantsOf } from '../../src/migrations/grants.js';
import { DATABASE_ROLES } from '../../src/platform/database/grants.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { call, nameOf, OPERATIONS, SharedResources } from '../support/http/operations.js';
import { ROOT } from '../support/paths.js';
import { ServiceProcess } from '../support/service/service-process.js';
import { runBuilt, runCli } from '../support/service/cli.js';

const ROLES = { owner: 'voice_notes_owner', ...DATABASE_ROLES };
type Role = keyof typeof ROLES;
const DENIED = '42501';

describe('a database role for each role of process', () => {
  const observer = useService({ ROLES: 'api' });
  const { environment } = observer;
  const processes = new Map<string, ServiceProcess>();
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
    processes.set(
      role,
      await ServiceProcess.start(environment, role, {
        ...variables,
        ...(role === 'transcriber' && { SECRET_KEY: '' }),
      }),
    );
  }

  const apiUrl = (): string => (processes.get('api') as ServiceProcess).url;

  it('has a line of grants for every table', async () => {
    const tables = await observer.database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' ORDER BY 1`,
    );
    const names = Object.keys(grantsOf(environment.extensions)).toSorted();
    expect(names).toEqual(tables.map(({ name }) => name).toSorted());
  });

  it.each<[Role, string]>([
    ['transcriber', 'SELECT 1 FROM api_keys'],
    ['transcriber', 'SELECT encrypted_secret FROM webhooks'],
    ['transcriber', 'SELECT url FROM webhooks'],
    ['transcriber', 'SELECT email FROM accounts'],
    ['transcriber', 'SELECT body FROM events'],
    ['transcriber', 'SELECT 1 FROM idempotency_keys'],
    ['transcriber', `UPDATE accounts SET plan = 'enterprise'`],
    ['transcriber', `UPDATE recordings SET object_key = 'x'`],
    ['transcriber', 'DELETE FROM recordings'],
    ['transcriber', 'DELETE FROM events'],
    ['deliverer', 'SELECT 1 FROM api_keys'],
    ['deliverer', 'SELECT email FROM accounts'],
    ['deliverer', `UPDATE webhooks SET url = 'http://x.example'`],
    ['deliverer', `UPDATE transcriptions SET text = ''`],
    ['api', `INSERT INTO accounts (id) VALUES (gen_random_uuid())`],
    ['api', `UPDATE accounts SET plan = 'enterprise'`],
    ['api', 'DELETE FROM api_keys'],
    ['api', 'TRUNCATE recordings'],
    ['api', 'CREATE TABLE mine ()'],
    ['api', 'CREATE TEMP TABLE mine ()'],
    ['api', 'ALTER TABLE recordings DISABLE TRIGGER ALL'],
    ['api', 'DELETE FROM migrations'],
    ['api', `COPY (SELECT 1) TO PROGRAM 'true'`],
    ['owner', `COPY (SELECT 1) TO PROGRAM 'true'`],
    ['owner', 'CREATE ROLE another'],
  ])('forbids the %s: %s', async (role, statement) => {
    const client = new Client({ connectionString: urlOf(role) });
    await client.connect();
    await expect(client.query(statement)).rejects.toMatchObject({ code: DENIED });
    await client.end();
  });

  const WAITS = 'POST /v1/audio/transcriptions';

  it.each(
    OPERATIONS.filter((operation) => nameOf(operation) !== WAITS).map(
      (operation) => [nameOf(operation), operation] as const,
    ),
  )('permits the api: %s', async (_, operation) => {
    const { owner, ids } = await resources.forSuccess(operation);
    const answer = await call(owner.at(apiUrl()), operation, ids);
    expect([answer.status, answer.body.error]).toEqual([operation.success, undefined]);
  });

  it('permits all that happens to a recording, and the rounds of the reconciler', async () => {
    const client = (await observer.account()).at(apiUrl());
    const receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    receiver.answerNext({ status: 500 });
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    const id = await uploadAsEndUser(client);
    // Its decoded length is more than that, so that the quotas are looked at again.
    await superuser.query('UPDATE recordings SET duration_ms = 300 WHERE id = $1', [id]);
    await Promise.all([start('transcriber'), start('deliverer')]);
    expect(await client.finished(id)).toMatchObject({ status: 'transcribed', duration_seconds: 2.786 });
    await eventually(() => receiver.requests.length === 2);
    await changeAndErase(client, id);
    await cleanedUp();

    const fields = ['--name', 'Acme', '--email', 'ops@acme.example'];
    expect(await runCli(asOwner(), 'account:create', ...fields)).toMatchObject({ code: 0, stderr: expect.any(String) });

    for (const [role, instance] of processes) {
      const denied = instance
        .log()
        .split('\n')
        .filter((line) => /permission denied|42501/.test(line));
      expect([role, denied]).toEqual([role, []]);
    }
  });

  async function uploadAsEndUser(client: ApiClient): Promise<string> {
    const { body: issued } = await client.post('/v1/account/access-tokens', { identity: 'user-1' }).expect(201);
    const uploading = client.upload('go-forward-ten-meters.wav').set('Authorization', `Bearer ${issued.token}`);
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
});
