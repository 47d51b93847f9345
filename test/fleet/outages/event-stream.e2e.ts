import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { EventStreamClient } from '../../support/http/clients/event-stream.js';
import { useFleet } from '../../support/service/fleet.js';
import { reportMeasurement } from '../../support/service/measurements.js';
import { newAccount, type ServiceProcess } from '../../support/service/service-process.js';

/** How often Redis and a process of the API are killed. */
const ROUNDS = Number(process.env.EVENT_STREAM_ROUNDS ?? 2);
const WRITERS = 4;
/** Pause of a writer after an upload. Without one the writers take the whole machine. */
const WRITE_EVERY_MS = 20;
/** In this time each process looks for new events at least once. */
const POLL_MS = 2500;

const fleet = useFleet();

/** Two processes of the API, of which one or the other is down. */
class Apis {
  private readonly processes: ServiceProcess[] = [];

  constructor(private readonly variables: Record<string, string>) {}

  async start(place: number): Promise<void> {
    this.processes[place] = await fleet.process('api', this.variables);
  }

  url(turn: number): string {
    return this.processes[turn % this.processes.length]?.url ?? '';
  }

  async restart(place: number, signal: NodeJS.Signals): Promise<void> {
    await this.processes[place]?.end(signal);
    await this.start(place);
  }
}

/** Follows the stream as a browser does: after the end of a connection it goes on after the last id, somewhere. */
class Follower {
  readonly ids: number[] = [];
  connections = 0;
  private lastEventId: number | null = null;
  private stream: EventStreamClient | null = null;
  private stopped = false;
  private readonly running: Promise<void>;

  constructor(client: ApiClient, apis: Apis, query: string) {
    this.running = this.follow(client, apis, query);
  }

  /** Id of the last event so far. */
  get lastId(): number | undefined {
    return this.stream?.ids.at(-1) ?? this.ids.at(-1);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async follow(client: ApiClient, apis: Apis, query: string): Promise<void> {
    for (let turn = 0; !this.stopped; turn++) {
      try {
        const stream = await EventStreamClient.open(client.at(apis.url(turn)), {
          query,
          lastEventId: this.lastEventId,
        });
        if (stream.status === 200) this.connections++;
        this.stream = stream;
        while (stream.endedAt === null && !this.stopped) await delay(20);
        stream.close();
        this.ids.push(...stream.ids);
        this.lastEventId = stream.lastEventId ?? this.lastEventId;
        this.stream = null;
      } catch {
        // Nobody listens there at the moment.
      }
      await delay(100);
    }
  }
}

/** Uploads again and again. What an upload comes to while its process dies is for the database to say. */
async function write(client: ApiClient, apis: Apis, stop: () => boolean): Promise<void> {
  for (let turn = 0; !stop(); turn++) {
    await client
      .at(apis.url(turn))
      .upload(silenceWav(0.1))
      .then(
        () => delay(WRITE_EVERY_MS),
        () => delay(50),
      );
  }
}

/** Reads pages without a pause, each after the last event of the one before. */
async function page(client: ApiClient, apis: Apis, stop: () => boolean): Promise<number[]> {
  const seen: number[] = [];
  for (let turn = 0, last = false; !last; turn++) {
    last = stop();
    try {
      for (let more = true; more;) {
        const { status, body } = await client.at(apis.url(turn)).get(`/v1/events?after=${seen.at(-1) ?? 0}&limit=20`);
        if (status !== 200) throw new Error(`${status}`);
        seen.push(...(body as { events: { sequence: number }[] }).events.map(({ sequence }) => sequence));
        more = (body as { next_uri: string | null }).next_uri !== null;
      }
    } catch {
      last = false;
    }
    await delay(30);
  }
  return seen;
}

it(
  `readers of events miss none and get none twice while Redis and the API are killed ${ROUNDS} times`,
  async () => {
    const redis = await fleet.privateRedis();
    const apis = new Apis({ REDIS_URL: redis.url });
    await Promise.all([apis.start(0), apis.start(1)]);
    const limits = ['--plan', 'enterprise', '--rate-limit', '100000', '--burst-limit', '100000'];
    const client = await newAccount(fleet.environment, apis.url(0), ...limits);
    let [written, read] = [false, false];
    const followers = [new Follower(client, apis, ''), new Follower(client, apis, '?after=0')];
    // Without `after` a stream begins with what happens next.
    await eventually(() => followers.every(({ connections }) => connections > 0));
    const writing = Promise.all(Array.from({ length: WRITERS }, () => write(client, apis, () => written)));
    const paging = page(client, apis, () => read);

    for (let round = 0; round < ROUNDS; round++) {
      await delay(500);
      await redis.kill();
      await delay(300);
      await apis.restart(round % 2, round % 2 === 1 ? 'SIGTERM' : 'SIGKILL');
      await redis.start();
    }
    await delay(500);
    written = true;
    await writing;
    const database = await fleet.postgres();
    await database.query('SELECT number_events(ARRAY[$1::uuid], 1000000)', [client.accountId]);
    const { rows } = await database.query<{ sequence: string }>(
      'SELECT sequence FROM events WHERE account_id = $1 ORDER BY sequence',
      [client.accountId],
    );
    const expected = rows.map(({ sequence }) => Number(sequence));
    expect(expected).toEqual(expected.map((_, i) => i + 1));
    await eventually(() => followers.every(({ lastId }) => lastId === expected.at(-1)));
    // Also what would come twice.
    await delay(POLL_MS);
    read = true;
    const results = [await paging];
    for (const follower of followers) {
      await follower.stop();
      results.push(follower.ids);
      expect(follower.connections).toBeGreaterThan(1);
    }
    const missing = results.map((seen) => expected.filter((id) => !new Set(seen).has(id)).length);
    const repeated = results.map((seen) => seen.length - new Set(seen).size);
    reportMeasurement(
      `${ROUNDS} rounds, ${expected.length} events, ${followers.map(({ connections }) => connections).join(' and ')} ` +
        `connections: ${missing.join(', ')} missing, ${repeated.join(', ')} repeated`,
    );
    for (const seen of results) expect(seen).toEqual(expected);
  },
  150_000 + ROUNDS * 30_000,
);
