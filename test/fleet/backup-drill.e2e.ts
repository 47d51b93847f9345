import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import type { ReceivedRequest } from '../../src/testing/webhook-receiver.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { FakeS3 } from '../support/servers/fake-s3.mjs';
import { runBuilt, runCli } from '../support/service/cli.js';
import { useFleet } from '../support/service/fleet.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { emptyInstallation, newFolder, onServer } from '../support/state/empty-installation.js';

type Variables = Record<string, string>;

const fleet = useFleet();
const { environment } = fleet;

/** Clients at the same time. */
const CLIENTS = 4;
const LOAD_MS = Number(process.env.DRILL_LOAD_MS ?? 6000);
/** A delivery that was told this long before the backup is recorded as delivered: the records are written in batches. */
const RECORDED_MS = 2000;

/** What a client was told of a recording, and when by the clock of the test. */
interface Note {
  id: string;
  audio: Buffer;
  acknowledged: number;
  corrected?: { text: string; acknowledged: number };
  deleted?: number;
}

/** Uploads, corrections and deletions, as long as it is not ended. Every answer must be what it should. */
class Load {
  readonly notes: Note[] = [];
  /** What was begun, and whose answer the loss of everything kept back. */
  unknown = new Set<string>();
  private ending = false;
  private readonly running: Promise<void>[];
  deletes = true;

  constructor(private readonly client: ApiClient) {
    this.running = Array.from({ length: CLIENTS }, (_, i) => this.run(i));
  }

  async end(): Promise<void> {
    this.ending = true;
    await Promise.all(this.running);
  }

  private async run(client: number): Promise<void> {
    for (let i = 0; !this.ending; i++) {
      // Each has other bytes than all others.
      const audio = silenceWav(0.1 + (client * 1000 + i) / 1e5);
      const { body } = await this.client.upload(audio).expect(201);
      this.notes.push({ id: body.id as string, audio, acknowledged: Date.now() });
      if (i % 4 === 1) await this.correct(client * 7 + i);
      if (i % 5 === 2 && this.deletes) await this.delete(client * 11 + i);
      await delay(20);
    }
  }

  private async correct(place: number): Promise<void> {
    const note = this.notes[place % this.notes.length] as Note;
    if (note.deleted !== undefined || this.unknown.has(note.id)) return;
    this.unknown.add(note.id);
    const text = `corrected ${place} at ${Date.now()}`;
    const { status } = await this.client.put(`/v1/recordings/${note.id}/transcription`, { text });
    if (status === 200) note.corrected = { text, acknowledged: Date.now() };
    this.unknown.delete(note.id);
  }

  private async delete(place: number): Promise<void> {
    const note = this.notes[place % this.notes.length] as Note;
    if (note.deleted !== undefined || this.unknown.has(note.id)) return;
    this.unknown.add(note.id);
    await this.client.delete(`/v1/recordings/${note.id}`).expect(204);
    note.deleted = Date.now();
    this.unknown.delete(note.id);
  }
}

const eventOf = ({ headers }: ReceivedRequest): string => String(headers['x-service-event-id']);

/** What the commands print, each some of it. */
interface Printed {
  backup: string;
  at: string;
  objects: number;
  copied: number;
  erased_again: Record<string, number>;
  account: { id: string };
  key_id: string;
  api_key: string;
  api_secret: string;
}

async function ok(variables: Variables, ...args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await runCli(
    { variables: { ...environment.variables, ...variables } },
    ...args,
    '--json',
  );
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}: ${stderr}${stdout}`);
  return JSON.parse(stdout) as Printed;
}

async function newAccount(variables: Variables, url: string): Promise<ApiClient> {
  const fields = ['--name', 'Drill', '--email', 'drill@example.com', '--plan', 'enterprise'];
  const { account, key_id: id, api_key: key, api_secret: secret } = await ok(variables, 'account:create', ...fields);
  return new ApiClient(url, account.id, { id, key, secret });
}

describe('the drill: a backup under load, the loss of everything, and the restore', () => {
  it('has what was acknowledged before, tells nothing again, and brings nothing back that was erased', async () => {
    const backups = await newFolder(environment, 'drill');
    const first: Variables = { ...(await emptyInstallation(environment)), BACKUP_DESTINATION: backups };
    expect(
      (await runBuilt({ variables: { ...environment.variables, ...first } }, 'dist/commands/migrate.js')).code,
    ).toBe(0);
    const [api, worker] = [await fleet.process('api', first), await fleet.process('worker', first)];
    const client = await newAccount(first, api.url);
    const receiver = await fleet.receiver();
    const events = ['recording.transcribed', 'transcription.corrected'];
    await client.post('/v1/webhooks', { url: receiver.url(), events }).expect(201);

    const load = new Load(client);
    await delay(LOAD_MS);
    const [made] = await Promise.all([ok(first, 'backup'), delay(LOAD_MS / 3)]);
    const moment = Date.parse(made.at);
    await delay(LOAD_MS);
    // Another day: only what is new.
    const next = await ok(first, 'backup', '--keep', '5');
    expect(next.copied).toBeLessThan(next.objects);
    await delay(LOAD_MS / 2);
    load.deletes = false;
    const unwritten = 'SELECT 1 FROM erasures WHERE NOT is_written';
    await eventually(async () => (await onServer(first.DATABASE_URL as string, unwritten)).length === 0);

    const killed = Promise.all([api.end('SIGKILL'), worker.end('SIGKILL')]);
    // Whose request was under way gets an error.
    await Promise.all([load.end().catch(() => undefined), killed]);
    const told = receiver.requests.length;
    const before = receiver.requests.slice();
    const name = new URL(first.DATABASE_URL as string).pathname.slice(1);
    await onServer(environment.variables.DATABASE_URL as string, `DROP DATABASE ${name} WITH (FORCE)`);
    await rm(first.STORAGE_DIR as string, { recursive: true });

    const s3 = await FakeS3.start('drill');
    fleet.defer(() => s3.stop());
    const second: Variables = {
      ...(await emptyInstallation(environment)),
      BACKUP_DESTINATION: backups,
      STORAGE_DRIVER: 's3',
      S3_ENDPOINT: s3.url,
      S3_BUCKET: 'drill',
      S3_ACCESS_KEY_ID: 'any',
      S3_SECRET_ACCESS_KEY: 'any',
    };
    const redis = await fleet.privateRedis();
    second.REDIS_URL = redis.url;
    const result = await ok(second, 'restore', '--backup', made.backup);
    const query = <Row>(sql: string): Promise<Row[]> => onServer<Row>(second.DATABASE_URL as string, sql);
    const delivered = await query<{ id: string }>(`SELECT event_id AS id FROM deliveries WHERE status = 'delivered'`);
    const processing = await query<{ id: string }>(`SELECT id FROM recordings WHERE status = 'processing'`);

    const restored = [await fleet.process('api', second), await fleet.process('worker', second)] as const;
    const owner = client.at(restored[0].url);
    for (const { id } of processing) expect(await owner.finished(id)).toMatchObject({ status: 'transcribed' });
    await eventually(
      async () => (await query(`SELECT 1 FROM deliveries WHERE status = 'pending'`)).length === 0,
      60_000,
    );

    // What was acknowledged before the backup is there, unless it was deleted since.
    const known = load.notes.filter(({ acknowledged }) => acknowledged < moment);
    const counts = { there: 0, corrected: 0, deleted: 0, later: 0 };
    for (const { id, audio, corrected, deleted } of known) {
      const path = `/v1/recordings/${id}`;
      if (load.unknown.has(id)) continue;
      if (deleted !== undefined) {
        await owner.get(path).expect(404);
        counts.deleted++;
        continue;
      }
      const { body } = await owner.get(`${path}/audio`).responseType('blob').expect(200);
      expect(Buffer.compare(body as Buffer, audio)).toBe(0);
      counts.there++;
      if (corrected === undefined || corrected.acknowledged >= moment) continue;
      const { body: transcription } = await owner.get(`${path}/transcription`).expect(200);
      expect(transcription.text).toBe(corrected.text);
      counts.corrected++;
    }
    const since = load.notes.filter(({ acknowledged }) => acknowledged >= moment + RECORDED_MS);
    for (const { id } of since) {
      await owner.get(`/v1/recordings/${id}`).expect(404);
      counts.later++;
    }
    const keys = [...s3.objects.keys()];
    const gone = load.notes.filter(({ deleted }) => deleted !== undefined);
    expect(keys.filter((key) => gone.some(({ id }) => key.includes(id)))).toEqual([]);
    expect(keys.length).toBeGreaterThanOrEqual(counts.there);

    // What was told before the backup is not told again.
    const again = receiver.requests.slice(told).map(eventOf);
    const recorded = new Set(delivered.map(({ id }) => id));
    expect(again.filter((id) => recorded.has(id))).toEqual([]);
    const toldBefore = before.filter(({ at }) => at.getTime() < moment - RECORDED_MS).map(eventOf);
    const unrecorded = toldBefore.filter((id) => !recorded.has(id));
    const eventRows = await query<{ id: string }>('SELECT id FROM events');
    const remembered = new Set(eventRows.map(({ id }) => id));
    expect(unrecorded.filter((id) => remembered.has(id))).toEqual([]);
    expect(again.filter((id) => toldBefore.includes(id))).toEqual([]);

    const { body: fresh } = await owner.upload(silenceWav(0.2)).expect(201);
    expect(await owner.finished(fresh.id)).toMatchObject({ status: 'transcribed' });
    await receiver.waitFor((requests) => requests.some(({ body }) => String(body).includes(fresh.id as string)));
    await ok(second, 'counters:verify');
    await ok(second, 'audit:verify');
    const erasedAgain = Object.entries(result.erased_again).map(([kind, count]) => `${count} ${kind}`);
    reportMeasurement(
      `drill: ${load.notes.length} notes acknowledged, ${known.length} before the backup: ${counts.there} there byte by byte, ` +
        `${counts.corrected} corrections, ${counts.deleted} deleted and still gone; ${counts.later} later ones lost; ` +
        `erased again: ${erasedAgain.join(', ')}; ${told} deliveries before the loss, ${toldBefore.length} before the ` +
        `backup and none of them again, ${again.length} after the restore of ${processing.length} unfinished notes and others`,
    );
    expect(counts.there).toBeGreaterThan(20);
    expect(counts.corrected).toBeGreaterThan(0);
    expect(counts.deleted).toBeGreaterThan(0);
    expect(counts.later).toBeGreaterThan(0);
    expect(toldBefore.length).toBeGreaterThan(0);
  }, 180_000);
});
