import { randomBytes } from 'node:crypto';
import { readEnv } from '../../src/platform/config/env.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useService } from '../../src/testing/test-service.js';
import { signatureProblems, WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { runBuilt } from '../support/service/cli.js';
import { ServiceProcess } from '../support/service/service-process.js';

const SECRET = randomBytes(24).toString('hex');
/** What a process must not look at. */
const NO_KEY = { SECRET_KEY: '', SECRET_KEY_FILE: '/nowhere/secret-key', SECRET_KEY_PREVIOUS: 'too short' };

describe('a process for each role (D38)', () => {
  const observer = useService({ ROLES: 'api' });
  const { environment } = observer;
  let processes: { api: ServiceProcess; transcriber: ServiceProcess; deliverer: ServiceProcess };
  let receiver: WebhookReceiver;

  beforeAll(async () => {
    const [api, transcriber, deliverer] = await Promise.all([
      ServiceProcess.start(environment, 'api'),
      ServiceProcess.start(environment, 'transcriber', NO_KEY),
      ServiceProcess.start(environment, 'deliverer'),
    ]);
    processes = { api, transcriber, deliverer };
    receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
  });

  it('transcribes without SECRET_KEY and delivers without an engine', async () => {
    const client = (await observer.account()).at(processes.api.url);
    const webhook = { url: receiver.url(), events: ['recording.transcribed'], secret: SECRET };
    await client.post('/v1/webhooks').send(webhook).expect(201);
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    await eventually(() => receiver.requests.length > 0, 60_000);
    const [delivery] = receiver.requests;
    expect(JSON.parse(String(delivery?.body))).toMatchObject({ recording: { id: body.id } });
    expect(signatureProblems(delivery as never, SECRET)).toEqual([]);
  });

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

  it('does not start without SECRET_KEY, but as transcriber', async () => {
    const missing = 'Invalid environment variables:\n  SECRET_KEY is required';
    const variables = { ...environment.variables, SECRET_KEY: '' };
    for (const ROLES of ['api', 'deliverer', 'worker', 'transcriber,api']) {
      expect(() => readEnv({ ...variables, ROLES })).toThrow(new Error(missing));
    }
    const { code, stderr } = await runBuilt({ variables: { ...variables, ROLES: 'transcriber,api' } }, 'dist/main.js');
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${missing}\n` });
  });
});
