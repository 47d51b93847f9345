import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ApiClient } from '../../src/testing/api-client.js';
import { eventually } from '../../src/testing/eventually.js';
import { useEnvironment } from '../../src/testing/test-environment.js';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.js';
import { ROOT } from '../support/paths.js';
import { freePort } from '../support/servers/free-port.js';
import { reportMeasurement } from '../support/service/measurements.js';
import { newAccount } from '../support/service/service-process.js';

/** More of them by hand: `HEAP_NOTES=3000 npm test -- test/fleet/heap.e2e.ts`. */
const NOTES = Number(process.env.HEAP_NOTES ?? 100);
/** After each the heap is looked at. */
const BATCHES = 5;
const NOTES_PER_BATCH = NOTES / BATCHES;
const AT_ONCE = 8;
/** The notes between the first two looks and the last two. */
const NOTES_BETWEEN = 3 * NOTES_PER_BATCH;
/**
 * A process that kept transcripts of 600 words, as the engine gives them, would grow by 90 KiB a note. Two looks differ by
 * half a megabyte without a cause, so the lower of two counts; and the first hundred notes cost as much once.
 */
const KEPT_BYTES = 1024 * 1024 + NOTES_BETWEEN * 1024;

/** Needs `nest build`. */
describe('the heap of a process', () => {
  const environment = useEnvironment();
  let api: ChildProcess;
  let transcriber: ChildProcess;
  let client: ApiClient;
  let receiver: WebhookReceiver;

  async function start(roles: string): Promise<{ child: ChildProcess; url: string }> {
    const port = await freePort();
    const own = {
      ROLES: roles,
      PORT: `${port}`,
      TRANSCRIPTION_ENGINE: 'long',
      SANDBOX: 'off',
      SPEECH_DETECTOR: 'energy',
    };
    const child = fork(join(ROOT, 'test/support/service/measured-service.mjs'), {
      execArgv: ['--expose-gc'],
      env: { PATH: process.env.PATH, ...environment.variables, ...own },
    });
    environment.defer(async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    });
    const url = `http://127.0.0.1:${port}`;
    await eventually(async () => {
      if (child.exitCode !== null) throw new Error(`${roles} ended with ${child.exitCode}`);
      return await fetch(`${url}/health/live`).then(
        (answer) => answer.ok,
        () => false,
      );
    });
    return { child, url };
  }

  beforeAll(async () => {
    const [desk, worker] = await Promise.all([start('api,deliverer'), start('transcriber')]);
    [api, transcriber] = [desk.child, worker.child];
    const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
    client = await newAccount(environment, desk.url, ...limits);
    receiver = await WebhookReceiver.listen();
    environment.defer(() => receiver.close());
    await client.post('/v1/webhooks', { url: receiver.url(), events: ['recording.transcribed'] }).expect(201);
  });

  async function heapOf(child: ChildProcess): Promise<number> {
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
