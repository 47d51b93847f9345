import { once } from 'node:events';
import type { ApiClient } from '../../src/testing/api-client.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { newAccount, ServiceProcess } from '../support/service/service-process.js';

/** More of them by hand: `HEAP_NOTES=3000 npm test -- test/fleet/heap.e2e.ts`. */
const NOTES = Number(process.env.HEAP_NOTES ?? 25);
/** The first ones fill caches and compile what is used. */
const WARM_UP = 15;
/** After each the heap is looked at. */
const BATCHES = 5;
const NOTES_PER_BATCH = NOTES / BATCHES;
const AT_ONCE = 8;
const PROGRAM = ['--expose-gc', 'test/support/service/measured-service.mjs'];
const SETTINGS = { TRANSCRIPTION_ENGINE: 'long', SANDBOX: 'off', SPEECH_DETECTOR: 'energy' };
/** The notes between the first two looks and the last two. */
const NOTES_BETWEEN = 3 * NOTES_PER_BATCH;
/**
 * A process that kept transcripts of 1,200 words, as the engine gives them, would grow by 180 KiB a note. Two looks differ by
 * half a megabyte without a cause, so the lower of two counts; and the first notes cost as much once.
 */
const KEPT_BYTES = 1024 * 1024 + NOTES_BETWEEN * 1024;

/** Needs `nest build`. */
describe('the heap of a process', () => {
  const environment = useEnvironment();
  let api: ServiceProcess;
  let transcriber: ServiceProcess;
  let client: ApiClient;
  let receiver: WebhookReceiver;

  const start = (roles: string) => ServiceProcess.start(environment, roles, SETTINGS, { args: PROGRAM });

  beforeAll(async () => {
    [api, transcriber] = await Promise.all([start('api,deliverer'), start('transcriber')]);
    const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
    client = await newAccount(environment, api.url, ...limits);
    receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
  });

  async function heapOf({ child }: ServiceProcess): Promise<number> {
    child.send('heap');
    const [bytes] = (await once(child, 'message')) as [number];
    return bytes;
  }

  /** Uploads notes, waits for their webhooks, and reads their transcripts. */
  async function work(notes: number): Promise<void> {
    let left = notes;
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
        await receiver.waitFor((requests) => requests.some((request) => request.body.includes(body.id as string)));
        await client.get(`/v1/recordings/${body.id}/transcription`).expect(200);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    expect(receiver.requests.splice(0)).toHaveLength(notes);
  }

  it(
    'does not grow with the notes that it has transcribed, answered and sent',
    async () => {
      const looks: Record<string, number[]> = { 'api,deliverer': [], transcriber: [] };
      await work(WARM_UP);
      for (let batch = 0; batch < BATCHES; batch++) {
        await work(NOTES_PER_BATCH);
        looks['api,deliverer']?.push(await heapOf(api));
        looks.transcriber?.push(await heapOf(transcriber));
      }
      for (const [roles, bytes] of Object.entries(looks)) {
        const grown = Math.min(...bytes.slice(-2)) - Math.min(...bytes.slice(0, 2));
        reportMeasurement(`${roles}: heap of ${bytes.join(', ')} bytes after every ${NOTES_PER_BATCH} notes`);
        expect([roles, bytes, grown < KEPT_BYTES]).toEqual([roles, bytes, true]);
      }
    },
    180_000 + NOTES * 2000,
  );
});
