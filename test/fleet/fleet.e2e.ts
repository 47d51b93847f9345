import type { Redis } from 'ioredis';
import { countAllowed } from '../support/http/load.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import type { Plan } from '../../src/access/plans.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { commandRunner } from '../support/service/cli.js';
import { type RecordingRow, rowsOfAccount, useFleet } from '../support/service/fleet.js';
import { ServiceProcess } from '../support/service/service-process.js';
import { type TestService, useService } from '../../src/testing/test-service.js';
import { uploadState } from '../support/state/upload-state.js';
import { signatureProblems } from '../../src/testing/webhook-receiver.js';

const SECRET = 'a secret that signs deliveries';
/** Metric of a worker without recordings. */
const IDLE = 'transcription_recordings 0';
const NOTES = ['ss-0880.wav', 'go-forward-ten-meters.webm', 'go-forward-ten-meters.ogg'];
/** Renewed every 3 s, which is when a worker that was frozen learns of its loss. */
const SETTINGS = { LEASE_SECONDS: '12' };

describe('two API processes and two workers on one Postgres, Redis and storage', () => {
  const observer = useService({ ...SETTINGS, ROLES: 'api' });
  const { environment } = observer;
  const fleet = useFleet({ environment });
  /** One of the build, one in the process of the test, which also looks into the tables. */
  let apis: [ServiceProcess, TestService];
  let worker: ServiceProcess;
  let redis: Redis;

  const run = commandRunner();
  /** @returns the JSON value that the command printed. */
  async function admin(...args: string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await run(environment, ...args, '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  // Not by `fleet`: it lives as long as the tests.
  const start = (roles: string): Promise<ServiceProcess> => ServiceProcess.start(environment, roles, SETTINGS);

  beforeAll(async () => {
    redis = fleet.redis();
    const [api, first] = await Promise.all([start('api'), start('worker')]);
    apis = [api, observer];
    worker = first;
  });

  const newClient = async (plan: Plan = 'enterprise'): Promise<ApiClient> =>
    (await observer.account(plan)).at(apis[0].url);

  const rowsOf = ({ accountId }: ApiClient): Promise<RecordingRow[]> => rowsOfAccount(observer, accountId);

  /** As if the time of their leases had gone by. */
  const expireLeases = (rows: Pick<RecordingRow, 'id'>[]) =>
    observer.database.query(
      'UPDATE recordings SET lease_until = now() WHERE id = ANY($1::uuid[]) AND lease_token IS NOT NULL',
      [rows.map(({ id }) => id)],
    );

  /** The engine gives way to everything else on the machine. */
  const allTranscribed = (client: ApiClient): Promise<RecordingRow[]> =>
    eventually(async () => {
      const rows = await rowsOf(client);
      return rows.every(({ status }) => status === 'transcribed') && rows;
    }, 180_000);

  async function expectOneEventEach(client: ApiClient, ids: string[]): Promise<void> {
    await observer.database.query('SELECT number_events(ARRAY[$1::uuid], 1000)', [client.accountId]);
    const all = await observer.database.query<{ recording_id: string; sequence: string; kind: string }>(
      'SELECT recording_id, sequence, kind FROM events WHERE account_id = $1 ORDER BY sequence',
      [client.accountId],
    );
    const events = all.filter(({ kind }) => kind !== 'recording.accepted');
    expect(events.map(({ recording_id: id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(all.map(({ sequence }) => Number(sequence))).toEqual(all.map((_, i) => i + 1));
  }

  it('finish what a killed worker held, after its lease: uploads through both, one event for each', async () => {
    const receiver = await fleet.receiver();
    const first = await newClient();
    const second = first.at(apis[1].url);
    const subscription = { url: receiver.url(), events: ['recording.transcribed'], secret: SECRET };
    await first.post('/v1/webhooks', subscription).expect(201);

    const ids: string[] = [];
    for (let i = 0; i < 2 * NOTES.length; i++) {
      const { body } = await (i % 2 ? first : second).upload(NOTES[i % NOTES.length] as string).expect(201);
      ids.push(body.id as string);
    }
    await eventually(async () => (await rowsOf(first)).filter(({ held }) => held).length > 1);
    await worker.end('SIGKILL');
    const orphans = (await rowsOf(first)).filter(({ held }) => held);
    expect(orphans.length).toBeGreaterThan(0);
    await expireLeases(orphans);
    [worker] = await Promise.all([start('worker'), fleet.service('worker', SETTINGS)]);

    const rows = await allTranscribed(second);
    const again = rows.filter(({ attempt }) => attempt > 1).map(({ id }) => id);
    expect(again.toSorted()).toEqual(orphans.map(({ id }) => id).toSorted());
    for (const url of apis.map((api) => api.url)) {
      const { body } = await first.at(url).get('/v1/recordings?status=transcribed').expect(200);
      expect(body.total).toBe(ids.length);
    }

    await expectOneEventEach(first, ids);
    const arrived = await receiver.waitFor((seen) => ids.every((id) => seen.some((s) => s.body.includes(id))));
    const eventIds = (id: string): Set<unknown> =>
      new Set(arrived.filter((seen) => seen.body.includes(id)).map((seen) => seen.headers['x-service-event-id']));
    for (const id of ids) expect(eventIds(id).size).toBe(1);
    expect(arrived.flatMap((seen) => signatureProblems(seen, SECRET))).toEqual([]);
  });

  it('do not wait for a worker that is frozen for longer than its lease; its late result is discarded', async () => {
    const client = await newClient();
    const { body } = await client.upload('leopard-de.wav').expect(201);
    await eventually(async () => (await rowsOf(client))[0]?.held);
    worker.signal('SIGSTOP');
    await expireLeases([body]);
    const other = await fleet.service('worker', SETTINGS);
    try {
      expect(await allTranscribed(client)).toMatchObject([{ attempt: 2 }]);
    } finally {
      worker.signal('SIGCONT');
    }
    await eventually(async () => (await (await fetch(`${worker.url}/metrics`)).text()).includes(IDLE));
    await other.close();
    const { body: next } = await client.upload(silenceWav(0.1)).expect(201);
    expect(await allTranscribed(client)).toHaveLength(2);
    await expectOneEventEach(client, [body.id, next.id]);
  });

  it('make one recording of uploads with the same Idempotency-Key through both at the same time (D20)', async () => {
    const client = await newClient();
    const before = (await uploadState(observer, environment)).objects.length;
    const upload = (i: number) =>
      client
        .at(apis[i % 2 === 0 ? 0 : 1].url)
        .upload(silenceWav(0.1))
        .set('Idempotency-Key', 'the same');
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => upload(i)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(9);
    expect(await rowsOf(client)).toHaveLength(1);
    await eventually(async () => (await uploadState(observer, environment)).objects.length === before + 1);
  });

  it('follow at once what the operator does: an account suspended, a key made and revoked (D4, D30)', async () => {
    const client = await newClient();
    const account = ['--account', client.accountId];
    const made = await admin('key:create', ...account, '--scopes', 'account:read');
    const headers = { 'X-Service-API-Key': String(made.api_key), 'X-Service-API-Secret': String(made.api_secret) };
    const statuses = (): Promise<number[]> =>
      Promise.all(apis.map(async ({ url }) => (await fetch(`${url}/v1/account`, { headers })).status));
    expect(await statuses()).toEqual([200, 200]);
    await admin('account:update', ...account, '--status', 'suspended');
    expect(await statuses()).toEqual([403, 403]);
    await admin('account:update', ...account, '--status', 'active');
    expect(await statuses()).toEqual([200, 200]);
    await admin('key:revoke', '--key', String(made.id));
    expect(await statuses()).toEqual([401, 401]);
  });

  it('share the bucket of an account: burst + floor(elapsed × rate / 60), and not one more (D6)', async () => {
    const [rate, burst] = [100, 200];
    const client = await newClient('pro');
    const both = apis.map(({ url }) => client.at(url));
    const { count, atLeast, atMost } = await countAllowed(redis, both, { rate, burst }, 1500);
    expect(count).toBeLessThanOrEqual(atMost);
    expect(count).toBeGreaterThanOrEqual(atLeast);
  });

  it('share the bucket of an address (D6)', async () => {
    const limited = { ...SETTINGS, ADDRESS_RATE_LIMIT: '5/8' };
    const doors = [await fleet.service('api', limited), await fleet.service('api', limited)];
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) statuses.push((await fetch(`${doors[i % 2]?.url}/v1/account`)).status);
    expect(statuses).toEqual([...Array.from({ length: 8 }, () => 401), 429, 429, 429, 429]);
  });
});
