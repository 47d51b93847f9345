import { setTimeout as delay } from 'node:timers/promises';
import type { Caller } from '../support/caller.js';
import { eventually } from '../support/eventually.js';
import { Member, newAccount } from '../support/fleet.js';
import { type Ground, prepareGround, type Service, startService } from '../support/service.js';
import { SERVICE_TIMEOUT } from '../support/timeouts.js';

jest.setTimeout(SERVICE_TIMEOUT);

/** Ready long before, and gone well within, the ten seconds that an orderly stop may take. */
const STOP_MS = 10_000;

describe('an orderly stop', () => {
  let ground: Ground;
  let service: Service;
  let caller: Caller;

  beforeAll(async () => {
    ground = await prepareGround();
    service = await startService(ground, { ROLES: 'api' });
    caller = await service.account();
  });

  afterAll(async () => {
    await service.close();
    await ground.clear();
  });

  const attemptsOf = async (id: string): Promise<number> => {
    const [row] = await service.database.query<{ attempt: number }>('SELECT attempt FROM recordings WHERE id = $1', [
      id,
    ]);
    return row?.attempt ?? -1;
  };

  it('of a worker hands back what it holds, and another worker finishes it at once', async () => {
    const worker = await Member.start(ground, 'worker');
    const { body: recording } = await caller.upload('jfk.wav').expect(201);
    await eventually(async () => (await attemptsOf(recording.id as string)) === 1);
    const { code, ms } = await worker.end('SIGTERM');
    expect(code).toBe(0);
    expect(ms).toBeLessThan(STOP_MS);

    const { status } = (await caller.get(`/v1/recordings/${recording.id}`).expect(200)).body as { status: string };
    if (status === 'processing') expect(await attemptsOf(recording.id as string)).toBe(0);
    const next = await Member.start(ground, 'worker');
    expect(await caller.finished(recording.id as string)).toMatchObject({ status: 'transcribed' });
    await next.end('SIGTERM');
  });

  it('of an API process writes down the uses of keys that it has counted (D13)', async () => {
    const api = await Member.start(ground, 'api');
    const counted = await newAccount(ground, api.url, '--plan', 'pro');
    for (let i = 0; i < 7; i++) await counted.get('/v1/account').expect(200);
    expect((await api.end('SIGTERM')).code).toBe(0);
    const [row] = await service.database.query<{ usage_count: string }>(
      'SELECT usage_count FROM api_keys WHERE account_id = $1',
      [counted.accountId],
    );
    expect(row?.usage_count).toBe('7');
  });

  it('lets a request under way end', async () => {
    const api = await Member.start(ground, 'api');
    const body = new FormData();
    body.set('file', new Blob([Buffer.alloc(100)]), 'note.wav');
    const answers = Promise.all(
      Array.from({ length: 20 }, () =>
        fetch(`${api.url}/v1/recordings`, { method: 'POST', headers: caller.headers, body }),
      ),
    );
    await delay(5);
    const [ended, statuses] = await Promise.all([
      api.end('SIGTERM'),
      answers.then(
        (all) => all.map((a) => a.status),
        () => [],
      ),
    ]);
    expect(ended.code).toBe(0);
    expect(statuses.every((status) => status === 400)).toBe(true);
  });

  it('ends at once at a second signal', async () => {
    const api = await Member.start(ground, 'api');
    const end = api.end('SIGTERM');
    api.signal('SIGTERM');
    const { ms } = await end;
    expect(ms).toBeLessThan(2000);
  });
});
