import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { fetchBinary } from '../support/http/clients/audio-client.js';
import { LiveClient } from '../support/http/clients/live-client.js';
import { pcmPart } from '../support/live/live-session.js';
import { useFleet } from '../support/service/fleet.js';
import { reportMeasurement } from '../support/service/measurements.js';

const PCM = '?format=pcm16&sample_rate=16000&language=english';
const SAID = 'go forward ten meters';
const WAV_HEADER_BYTES = 44;
const PART_BYTES = 3200;
/** Twenty times as fast as it is spoken. */
const SEND_MS = 5;
/** Of a transcriber that was killed, in seconds. */
const LEASE_SECONDS = 8;
const silence = (seconds: number): Buffer => Buffer.alloc(seconds * 32_000);

describe('somebody speaks into a WebSocket, and a process is killed (D90, D92)', () => {
  const observer = useService({ ROLES: 'api' });
  const { environment } = observer;
  const fleet = useFleet({ environment });

  afterEach(() => LiveClient.closeAll());

  const open = (account: ApiClient, url: string, query = PCM): Promise<LiveClient> =>
    LiveClient.open(url, query, { headers: account.headers });

  const acknowledged = (client: LiveClient): number => (client.all('stored').at(-1)?.bytes as number | undefined) ?? 0;

  /** The audio of the file that the recording has in the end. */
  async function audioOf(account: ApiClient, id: string): Promise<Buffer> {
    const path = `/v1/recordings/${id}/audio`;
    await eventually(async () => (await account.get(path)).status === 200);
    return (await fetchBinary(account, path)).bytes.subarray(WAV_HEADER_BYTES);
  }

  it('a transcriber, in the middle of an utterance: another goes on, each final comes once and in order', async () => {
    const account = await observer.account();
    const killed = await fleet.process('transcriber');
    const speech = (await readFile(join(SPEECH, 'go-forward-ten-meters.wav'))).subarray(WAV_HEADER_BYTES);
    const client = await open(account, observer.url);
    const id = (await client.next('started')).recording_id as string;
    const sent: Buffer[] = [];
    const say = (audio: Buffer): void => {
      sent.push(audio);
      for (let at = 0; at < audio.length; at += PART_BYTES) client.send(audio.subarray(at, at + PART_BYTES));
    };
    const final = (item: number) => client.next('final', (message) => message.item === item);
    const lease = async () => {
      const [row] = await observer.database.query<{ token: string; seconds: number }>(
        `SELECT lease_token AS token, extract(epoch FROM lease_until - now())::float8 AS seconds
         FROM live_recordings WHERE recording_id = $1`,
        [id],
      );
      return row;
    };

    say(Buffer.concat([silence(0.5), speech, silence(1)]));
    await final(0);
    const middle = Math.floor(speech.length * 0.4) * 2;
    say(speech.subarray(0, middle));
    await client.next('partial', ({ item }) => item === 1);
    await fleet.process('worker');
    await killed.end('SIGKILL');
    const killedAt = performance.now();
    const left = await lease();
    expect(left?.seconds).toBeLessThanOrEqual(LEASE_SECONDS);
    expect(client.all('final')).toHaveLength(1);

    say(Buffer.concat([speech.subarray(middle), silence(1), speech, silence(1)]));
    await final(1);
    const seconds = (performance.now() - killedAt) / 1000;
    expect((await lease())?.token).not.toBe(left?.token);
    say(Buffer.concat([speech, silence(1)]));
    await final(3);
    client.send({ type: 'finish' });
    expect(await client.next('ended')).toMatchObject({ reason: 'finished', recording_id: id });

    const finals = client.all('final') as unknown as { item: number; text: string; start: number; end: number }[];
    expect(finals.map(({ item, text }) => [item, text])).toEqual([0, 1, 2, 3].map((item) => [item, SAID]));
    const times = finals.flatMap(({ start, end }) => [start, end]);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    for (const { item } of finals) {
      const index = client.messages.findIndex((message) => message.type === 'final' && message.item === item);
      expect(client.messages.slice(index + 1).filter((message) => message.item === item)).toEqual([]);
    }
    const audio = Buffer.concat(sent);
    expect(acknowledged(client)).toBe(audio.length);
    expect((await audioOf(account, id)).equals(audio)).toBe(true);
    reportMeasurement(
      `a transcriber is killed with a lease of ${left?.seconds.toFixed(1)} s: final after ${seconds.toFixed(1)} s`,
    );
  });

  it('an API process, while audio comes: the client goes on by its id at another, and nothing acknowledged is lost', async () => {
    const account = await observer.account();
    const parts = Array.from({ length: 150 }, (_, n) => pcmPart(n));
    const audio = Buffer.concat(parts);
    const [first, second] = await Promise.all([fleet.process('api'), fleet.process('api')]);
    const steps = [
      { process: first, url: first.url, until: 0.3 },
      { process: second, url: second.url, until: 0.6 },
      { process: null, url: observer.url, until: 1 },
    ];
    let id = '';
    let known = 0;
    const unanswered: number[] = [];
    for (const { process, url, until } of steps) {
      const client = await open(account, url, id === '' ? PCM : `${PCM}&recording=${id}`);
      if (id === '') id = (await client.next('started')).recording_id as string;
      else {
        const stored = (await client.next('resumed')).stored_bytes as number;
        // What was not acknowledged may be stored all the same.
        expect(stored).toBeGreaterThanOrEqual(known);
        unanswered.push(stored - known);
        known = stored;
      }
      // More is sent than is waited for, except by the last.
      const wanted = audio.length * until;
      const end = Math.min(audio.length, wanted * 1.4);
      const from = known;
      const sending = (async () => {
        for (let at = from; at < end && !client.closed; at += PART_BYTES) {
          client.send(audio.subarray(at, at + PART_BYTES));
          await delay(SEND_MS);
        }
      })();
      await eventually(() => acknowledged(client) >= wanted);
      if (process) await process.end('SIGKILL');
      else client.socket.close(1000);
      await client.end();
      await sending;
      known = acknowledged(client);
    }
    await fleet.process('deliverer');
    const stored = await audioOf(account, id);
    expect(stored.equals(audio)).toBe(true);
    reportMeasurement(
      `two API processes are killed under a WebSocket: lost 0; stored without an answer ${unanswered.join(' and ')} bytes`,
    );
  });
});
