import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { SPEECH } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { longRecording } from '../support/audio/long-recording.js';
import { LiveClient } from '../support/http/clients/live-client.js';
import { rowsOfAccount } from '../support/service/fleet.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { timedEngine } from '../support/service/test-engines.js';

const SESSIONS = 8;
const ROUNDS = 3;
const UPLOADS = 12;
const WAV_HEADER_BYTES = 44;

/** The uploads take it almost two minutes. */
const engine = timedEngine({ msPerSecond: 100, concurrency: 1 });

describe('sessions and uploads that share one engine (D33, D92)', () => {
  const service = useService(
    {
      ROLES: 'api,transcriber',
      TRANSCRIPTION_ENGINE: 'timed',
      LIVE_ENGINE: 'timed',
      LIVE_SESSIONS: `${SESSIONS}`,
      SPEECH_DETECTOR: 'energy',
    },
    { extensions: [engine.extension] },
  );

  afterAll(() => LiveClient.closeAll());

  const secondsOf = (language: string) =>
    engine.chunks.filter((chunk) => chunk.language === language).reduce((sum, { seconds }) => sum + seconds, 0);

  it('with a full queue eight sessions get their words, in order, and the queue goes on', async () => {
    const uploader = await service.account();
    const audio = await longRecording(8);
    for (let i = 0; i < UPLOADS; i++) await uploader.upload(audio, { language: 'german' }).expect(201);
    await eventually(() => secondsOf('german') > 0);
    const speech = (await readFile(join(SPEECH, 'go-forward-ten-meters.wav'))).subarray(WAV_HEADER_BYTES);
    const utterance = Buffer.concat([speech, Buffer.alloc(32_000)]);
    const leases = () =>
      service.database.query<{ id: string; token: string }>(
        'SELECT recording_id AS id, lease_token AS token FROM live_recordings ORDER BY recording_id',
      );

    // One of them is the uploader.
    const others = await Promise.all(Array.from({ length: SESSIONS - 1 }, () => service.account()));
    const open = ({ headers }: ApiClient) =>
      LiveClient.open(service.url, '?format=pcm16&sample_rate=16000&language=english', { headers });
    const clients = await Promise.all([uploader, ...others].map(open));
    const speakOnce = async (client: LiveClient, item: number) => {
      client.send(utterance);
      await client.next('final', (message) => message.item === item);
    };
    await Promise.all(clients.map((client) => speakOnce(client, 0)));
    const begun = await leases();
    const before = secondsOf('german');
    const spokenBefore = secondsOf('english');
    await Promise.all(
      clients.map(async (client) => {
        for (let round = 1; round < ROUNDS; round++) await speakOnce(client, round);
      }),
    );
    const uploaded = secondsOf('german') - before;
    const spoken = secondsOf('english') - spokenBefore;

    // Nobody has waited for the end of the queue.
    const waiting = (await rowsOfAccount(service, uploader.accountId)).filter(({ status }) => status === 'processing');
    expect(waiting.length).toBeGreaterThan(1);
    for (const client of clients) {
      const items = client.all('final').map(({ item }) => item);
      expect(items).toEqual(Array.from({ length: ROUNDS }, (_, round) => round));
    }
    // No session was given up and taken again.
    expect(begun).toHaveLength(SESSIONS);
    expect(await leases()).toEqual(begun);
    // The uploader is one of the accounts between which the engine is shared.
    expect(uploaded).toBeGreaterThan((spoken / SESSIONS) * 0.5);
    reportMeasurement(
      `${SESSIONS} sessions and a full queue on one engine: ${spoken.toFixed(0)} s spoken, ${uploaded.toFixed(0)} s uploaded`,
    );
    await service.database.query('DELETE FROM recordings');
  });
});
