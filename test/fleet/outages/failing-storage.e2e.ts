import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import type { TestService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { FakeS3 } from '../../support/servers/fake-s3.mjs';
import { rowOf, useFleet } from '../../support/service/fleet.js';

/** More than the connections of the pool. */
const MANY = 25;
/** What an orderly stop may take. */
const STOP_MS = 10_000;

const fleet = useFleet();
let s3: FakeS3;
let desk: TestService;
let worker: TestService;
let client: ApiClient;

beforeAll(async () => {
  s3 = await FakeS3.start();
  fleet.defer(() => s3.stop());
  desk = await start('api');
  worker = await start('worker');
  client = await desk.account();
});

afterEach(() => {
  s3.hangs = false;
});

function start(roles: string): Promise<TestService> {
  return fleet.service(roles, {
    STORAGE_DRIVER: 's3',
    S3_ENDPOINT: s3.url,
    S3_BUCKET: s3.bucket,
    S3_ACCESS_KEY_ID: 'test-key-id',
    S3_SECRET_ACCESS_KEY: 'test-secret-key',
  });
}

async function uploads(count: number): Promise<string[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => client.upload(silenceWav(0.1)).expect(201)));
  return answers.map(({ body }) => body.id as string);
}

async function deleteAll(ids: string[]): Promise<void> {
  for (const id of ids) await client.delete(`/v1/recordings/${id}`).expect(204);
}

const keyOf = (id: string): string => [...s3.objects.keys()].find((key) => key.includes(id)) ?? '';
const sent = (method: string): number => s3.requests.filter((request) => request.method === method).length;
const removals = async (): Promise<string[]> => {
  const rows = await desk.database.query<{ key: string }>('SELECT object_key AS key FROM object_removals');
  return rows.map(({ key }) => key);
};
const setDue = () => desk.database.query('UPDATE object_removals SET remove_after = now()');

describe('a store that accepts requests and never answers them', () => {
  it('takes no database connection, however many objects wait for their removal', async () => {
    const ids = await uploads(MANY);
    for (const id of ids) await client.finished(id);
    const before = sent('DELETE');
    s3.hangs = true;
    await deleteAll(ids);
    await eventually(() => sent('DELETE') >= before + MANY);
    const started = performance.now();
    for (let i = 0; i < 5; i++) await client.get('/v1/recordings').expect(200);
    expect(performance.now() - started).toBeLessThan(8000);
    s3.hangs = false;
    await eventually(async () => (await removals()).length === 0);
    expect([...s3.objects.keys()]).toEqual([]);
  });
});

describe('an object that the store refuses to remove', () => {
  it('keeps no other object waiting, and goes when the store allows it', async () => {
    const ids = await uploads(3);
    for (const id of ids) await client.finished(id);
    const locked = keyOf(ids[0] as string);
    s3.locked.add(locked);
    await deleteAll([ids[0] as string]);
    await eventually(async () => (await removals()).length === 1);
    // Now only the reconciler can remove the others, and the locked one is due first.
    s3.meetOn('DELETE', 'broken', 'broken', 'broken', 'broken', 'broken', 'broken');
    await deleteAll(ids.slice(1));
    await eventually(async () => (await removals()).length === 1);
    expect([...s3.objects.keys()]).toEqual([locked]);
    s3.locked.clear();
    await setDue();
    await eventually(async () => (await removals()).length === 0);
    expect(s3.objects.size).toBe(0);
  });
});

describe('an upload whose connection to the store breaks', () => {
  it('leaves no orphan, also when the store writes the object later', async () => {
    const [before, kept] = [sent('DELETE'), s3.objects.size];
    s3.meetOn('PUT', 'late', 'late', 'late');
    await client.upload(silenceWav(0.1)).expect(503);
    await eventually(() => sent('DELETE') > before);
    s3.arriveLate();
    expect(s3.objects.size).toBe(kept + 1);
    await setDue();
    await eventually(() => s3.objects.size === kept);
    await eventually(async () => (await removals()).length === 0);
  });

  it('is forgotten at once when the store has refused it', async () => {
    s3.meetOn('PUT', 'refused');
    await client.upload(silenceWav(0.1)).expect(503);
    await eventually(async () => (await removals()).length === 0);
  });
});

describe('a download that takes long', () => {
  it('does not hold up a stop: it is given up, and its recording released', async () => {
    await worker.close();
    const [id] = await uploads(1);
    const before = sent('GET');
    s3.hangs = true;
    const stopping = await start('worker');
    await eventually(() => sent('GET') > before);
    const started = performance.now();
    await stopping.close();
    expect(performance.now() - started).toBeLessThan(STOP_MS);
    expect(await rowOf(desk, id as string)).toMatchObject({ attempt: 0, held: false });
  });
});
