import { join } from 'node:path';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useService } from '../../src/testing/test-service.js';
import { freePort } from '../support/servers/free-port.js';
import { callLargest, HOSTILE_BODIES, LARGEST_INPUTS } from '../support/http/largest-inputs.js';
import { createResources, type Ids, NAMED_OPERATIONS, OPERATIONS, nameOf } from '../support/http/operations.js';
import { ROOT } from '../support/paths.js';
import { ServiceProcess } from '../support/service/service-process.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { transcribe } from '../support/state/recording-states.js';

const PRELOAD = `--import=${join(ROOT, 'test/support/service/loop-hold.mjs')}`;
/** Everybody else waits for it. */
const LONGEST_TURN_MS = 100;
const CORRECTION = 'PUT /v1/recordings/:recording_id/transcription';

describe('a turn of the event loop (D60)', () => {
  const service = useService({ ROLES: 'api' });
  let built: ServiceProcess;
  let holdPort: number;
  let owner: ApiClient;
  let ids: Ids;

  beforeAll(async () => {
    holdPort = await freePort();
    built = await ServiceProcess.start(service.environment, 'api', {
      NODE_OPTIONS: PRELOAD,
      LOOP_HOLD_PORT: `${holdPort}`,
      COMPAT_TIMEOUT_SECONDS: '1',
    });
    owner = await service.account();
    ids = await createResources(service, owner, { needs: 'transcribed' });
    const byBuilt = { url: built.url, headers: owner.headers };
    // What the compatible endpoint repeats is large, too.
    const [first] = LARGEST_INPUTS['POST /v1/audio/transcriptions'] ?? [];
    const { headers } = await callLargest(byBuilt, 'POST /v1/audio/transcriptions', ids, first ?? {});
    const repeated = headers['x-recording-id'] as string;
    await transcribe(service, repeated);
    const [correction] = LARGEST_INPUTS[CORRECTION] ?? [];
    for (const recording of [repeated, ids.recording_id]) {
      await callLargest(byBuilt, CORRECTION, { ...ids, recording_id: recording }, correction ?? {}).expect(200);
    }
    // A page of events that are as large as they can be.
    await service.database.query(
      `INSERT INTO events (id, account_id, kind, recording_id, body, created_at)
       SELECT gen_random_uuid(), account_id, kind, recording_id, body, created_at
       FROM (SELECT * FROM events WHERE account_id = $1 ORDER BY octet_length(body) DESC LIMIT 1), generate_series(1, 100)`,
      [owner.accountId],
    );
    await longestTurn();
  });

  /** Of the API process since the last call, in milliseconds of CPU. */
  async function longestTurn(): Promise<number> {
    const { ms } = (await (await fetch(`http://127.0.0.1:${holdPort}`)).json()) as { ms: number };
    return ms;
  }

  it('is tried with the largest inputs of every operation', () => {
    expect(Object.keys(LARGEST_INPUTS).toSorted()).toEqual(OPERATIONS.map(nameOf).toSorted());
  });

  // Reads before writes: what is read is large until something is deleted.
  const byRisk = NAMED_OPERATIONS.toSorted(
    ([a], [b]) => Number(a.startsWith('DELETE')) - Number(b.startsWith('DELETE')),
  );

  it.each(byRisk)('of %s is short, whatever its input', async (name) => {
    for (const input of LARGEST_INPUTS[name] ?? []) {
      const { status } = await callLargest({ url: built.url, headers: owner.headers }, name, ids, input);
      const ms = await longestTurn();
      if (ms > LONGEST_TURN_MS / 3) reportMeasurement(`a turn of ${name} took ${ms.toFixed(0)} ms`);
      expect(status).toBeLessThan(500);
      expect(ms).toBeLessThan(LONGEST_TURN_MS);
    }
  });

  it.each(HOSTILE_BODIES)('that reads a body of %s is short', async (_, body) => {
    const response = await fetch(`${built.url}/v1/recordings/${ids.recording_id}/transcription`, {
      method: 'PUT',
      headers: { ...owner.headers, 'Content-Type': 'application/json' },
      body,
    });
    expect(response.status).toBeLessThan(500);
    expect(await longestTurn()).toBeLessThan(LONGEST_TURN_MS);
  });
});
