import { join } from 'node:path';
import { useService } from '../../../src/testing/test-service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { ROOT } from '../../support/paths.js';
import { useFleet } from '../../support/service/fleet.js';
import { reportMeasurement } from '../../support/service/measurements.js';

const CLOCK = `--import=${join(ROOT, 'test/support/service/shifted-clock.mjs')}`;
/** The next round of the reconciler is too late. */
const SETTINGS = { NODE_OPTIONS: CLOCK, RECONCILE_SECONDS: '20' };

describe('a worker whose clock is wrong', () => {
  const api = useService({ ROLES: 'api' });
  const fleet = useFleet(api);

  it.each([2000, -2000])('by %i ms delivers at once', async (offset) => {
    await fleet.process('worker', { ...SETTINGS, CLOCK_OFFSET_MS: `${offset}` });
    const receiver = await fleet.receiver();
    const client = await api.account();
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
    // The first round of the reconciler is over.
    const { body: first } = await client.upload(silenceWav(0.1)).expect(201);
    await client.finished(first.id);
    await receiver.waitFor(({ length }) => length === 1);

    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await client.finished(body.id);
    await receiver.waitFor(({ length }) => length === 2);
    const [row] = await api.database.query<{ at: Date }>('SELECT processed_at AS at FROM recordings WHERE id = $1', [
      body.id,
    ]);
    const wait = (receiver.requests[1]?.at.getTime() ?? Infinity) - (row?.at.getTime() ?? 0);
    reportMeasurement(`clock ${offset} ms ahead: the first attempt came after ${wait} ms`);
    expect(wait).toBeLessThan(10_000);
  });
});
