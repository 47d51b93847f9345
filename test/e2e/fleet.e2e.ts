import { admin, Member, newAccount } from '../support/fleet.js';
import { type Ground, prepareGround } from '../support/service.js';
import { SERVICE_TIMEOUT } from '../support/timeouts.js';
import { signatureProblems, WebhookReceiver } from '../support/webhook-receiver.js';

jest.setTimeout(SERVICE_TIMEOUT);

const SECRET = 'a secret that signs deliveries';
const NOTES = ['ss-0880.wav', 'go-forward-ten-meters.webm', 'go-forward-ten-meters.ogg'];

describe('two API processes and two workers on one Postgres, Redis and storage', () => {
  let ground: Ground;
  let apis: [Member, Member];
  let workers: [Member, Member];

  beforeAll(async () => {
    ground = await prepareGround();
    const settings = { LEASE_SECONDS: '3' };
    const start = (roles: string): Promise<Member> => Member.start(ground, roles, settings);
    [apis, workers] = await Promise.all([
      Promise.all([start('api'), start('api')]),
      Promise.all([start('worker'), start('worker')]),
    ]);
  });

  afterAll(async () => {
    await Promise.all([...apis, ...workers].map((member) => member.end('SIGTERM')));
    await ground.clear();
  });

  it('transcribe what came in through either, also when a worker is killed, with one event for each', async () => {
    const receiver = await WebhookReceiver.listen();
    const first = await newAccount(ground, apis[0].url, '--plan', 'enterprise');
    const second = first.at(apis[1].url);
    const subscription = { url: receiver.url(), events: ['recording.transcribed'], secret: SECRET };
    await first.post('/v1/webhooks', subscription).expect(201);

    const ids: string[] = [];
    for (let i = 0; i < 9; i++) {
      const { body } = await (i % 2 ? first : second).upload(NOTES[i % NOTES.length] as string).expect(201);
      ids.push(body.id as string);
    }
    await workers[0].end('SIGKILL');

    for (const id of ids) expect(await second.finished(id)).toMatchObject({ status: 'transcribed' });
    const arrived = await receiver.waitFor((seen) => ids.every((id) => seen.some((s) => s.body.includes(id))), 20_000);
    const eventIds = (id: string): Set<unknown> =>
      new Set(arrived.filter((seen) => seen.body.includes(id)).map((seen) => seen.headers['x-service-event-id']));
    for (const id of ids) expect(eventIds(id).size).toBe(1);
    expect(arrived.flatMap((seen) => signatureProblems(seen, SECRET))).toEqual([]);
    await receiver.close();
    workers[0] = await Member.start(ground, 'worker', { LEASE_SECONDS: '3' });
  });

  it('refuse a key at the very next request after it was revoked at the other (D12)', async () => {
    const owner = await newAccount(ground, apis[0].url, '--plan', 'enterprise');
    for (let i = 0; i < 5; i++) {
      const { body: key } = await owner.post('/v1/account/api-keys', { name: 'short-lived' }).expect(201);
      const headers = { 'X-Service-API-Key': key.api_key as string, 'X-Service-API-Secret': key.api_secret as string };
      const ask = async (): Promise<number> => (await fetch(`${apis[1].url}/v1/account`, { headers })).status;
      expect(await ask()).toBe(200);
      await owner.delete(`/v1/account/api-keys/${key.id}`).expect(204);
      expect(await ask()).toBe(401);
    }
  });

  it('refuse an account at once after the operator suspended it, and serve it again after (D4)', async () => {
    const caller = await newAccount(ground, apis[0].url);
    const status = (value: string) => admin(ground, 'account:update', '--account', caller.accountId, '--status', value);
    await status('suspended');
    for (const { url } of apis) await caller.at(url).get('/v1/account').expect(403);
    await status('active');
    for (const { url } of apis) await caller.at(url).get('/v1/account').expect(200);
  });

  it.each([
    ['free', [], 10, 20],
    ['pro', [], 100, 200],
    ['enterprise', ['--rate-limit', '300', '--burst-limit', '500'], 300, 500],
  ])(
    'share the bucket of a %s account: what its burst and its rate allow, and not one more (D6)',
    async (plan, own, rate, burst) => {
      const caller = await newAccount(ground, apis[0].url, '--plan', plan, ...own);
      const started = performance.now();
      const ask = async (i: number): Promise<number> =>
        (await fetch(`${apis[i % 2]?.url}/v1/account`, { headers: caller.headers })).status;
      const statuses: number[] = [];
      for (let i = 0; i < burst + 60; i += 20) {
        statuses.push(...(await Promise.all(Array.from({ length: 20 }, (_, k) => ask(i + k)))));
      }
      const allowed = statuses.filter((status) => status === 200).length;
      const seconds = (performance.now() - started) / 1000;
      expect(new Set(statuses)).toEqual(new Set([200, 429]));
      expect(allowed).toBeGreaterThanOrEqual(burst);
      expect(allowed).toBeLessThanOrEqual(burst + Math.floor((seconds * rate) / 60));
    },
  );

  it('leave everything but health and figures to the API: a worker answers 404 (D31)', async () => {
    const statusOf = async (path: string): Promise<number> => (await fetch(workers[1].url + path)).status;
    expect(await statusOf('/v1/account')).toBe(404);
    expect(await statusOf('/docs')).toBe(404);
    expect(await statusOf('/health/live')).toBe(200);
    expect(await statusOf('/metrics')).toBe(200);
  });
});
