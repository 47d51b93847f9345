import { silenceWav } from '../support/audio/audio-bytes.js';
import { ServiceProcess } from '../support/service/service-process.js';
import { forgetPeak, memoryOf } from '../support/service/process-stats.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { exportAccount } from '../support/state/account-export.js';
import { transcribe } from '../support/state/recording-states.js';
import { useService } from '../../src/testing/test-service.js';

const MIB = 1 << 20;
const RECORDINGS = Number(process.env.EXPORTED_RECORDINGS ?? 1500);
/** What the collector has not taken yet; three times as many recordings took 34 MiB more. */
const MOST_BYTES = 300 * MIB;

describe('the export of a large account (D105)', () => {
  const service = useService({ ROLES: 'api' });
  const copy = (table: string, id: string, count: number, changed: string): Promise<unknown[]> =>
    service.database.query(
      `INSERT INTO ${table} SELECT copied.* FROM ${table} t, generate_series(1, $2::int) i,
         jsonb_populate_record(t, jsonb_build_object(${changed})) copied WHERE t.${table === 'recordings' ? 'id' : 'recording_id'} = $1`,
      [id, count],
    );

  it('takes no more memory than a small one, whatever is in it', async () => {
    const client = await service.account();
    const { body } = await client.upload(silenceWav(6)).expect(201);
    const id = body.id as string;
    await transcribe(service, id, { text: 'the tank is empty again '.repeat(400) });
    const copied = `md5($1::uuid::text || i)::uuid`;
    await copy('recordings', id, RECORDINGS, `'id', ${copied}`);
    await copy(
      'transcriptions',
      id,
      RECORDINGS,
      `'recording_id', ${copied}, 'id', md5($1::uuid::text || 't' || i)::uuid`,
    );

    const built = await ServiceProcess.start(service.environment, 'api');
    const owner = client.at(built.url);
    forgetPeak(built.pid);
    const before = memoryOf(built.pid).resident;
    const exported = await exportAccount(owner, 400_000);
    const { peak } = memoryOf(built.pid);
    const [size, grown] = [exported.size_bytes / MIB, (peak - before) / MIB].map(Math.round);
    reportMeasurement(`export of ${RECORDINGS + 1} recordings: ${size} MiB, memory ${grown} MiB more than before`);
    expect(exported.size_bytes).toBeGreaterThan(RECORDINGS * 192_000);
    expect(peak - before).toBeLessThan(MOST_BYTES);
  });
});
