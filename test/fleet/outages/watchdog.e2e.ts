import { getQueueToken } from '@nestjs/bull';
import type { Queue } from 'bull';
import { Env } from '../../../src/platform/config/env.js';
import { RedisService } from '../../../src/platform/redis/redis.service.js';
import { QueueWatchdogService } from '../../../src/platform/queue/watchdog/queue-watchdog.service.js';
import { silenceWav } from '../../support/audio/audio-bytes.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';

const CHECK_MS = 50;
const STALLED_MS = 500;

describe('queue watchdog', () => {
  let queue: Queue;
  let watchdog: QueueWatchdogService;
  let exits: string[];

  const service = useService();

  beforeAll(async () => {
    queue = service.app.get<Queue>(getQueueToken('transcriptions'));
  });

  beforeEach(() => {
    exits = [];
    const options = { checkMs: CHECK_MS, stalledMs: STALLED_MS, exit: () => void exits.push('exit') };
    watchdog = new QueueWatchdogService(service.app.get(Env), service.app.get(RedisService), options);
    Object.assign(watchdog, { logger: { fatal: () => undefined } });
  });

  afterEach(async () => {
    watchdog.onModuleDestroy();
    await queue.resume(true);
  });

  it('ends the process once when it takes none of the waiting jobs', async () => {
    watchdog.watch(queue, () => false);
    watchdog.onApplicationBootstrap();
    // The nearest to a stalled consumer: paused in this process only, which Redis does not know.
    await queue.pause(true);
    const client = await service.account();
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await eventually(() => exits.length > 0);
    await queue.resume(true);
    await client.finished(body.id);
    expect(exits).toEqual(['exit']);
  });

  it('lets a process run that takes jobs, that has none to take, or that is busy', async () => {
    let isBusy = false;
    watchdog.watch(queue, () => isBusy);
    watchdog.onApplicationBootstrap();
    const client = await service.account();
    const started = Date.now();
    while (Date.now() - started < 3 * STALLED_MS) {
      const { body } = await client.upload(silenceWav(0.1)).expect(201);
      await client.finished(body.id);
    }
    await new Promise((resolve) => setTimeout(resolve, 3 * STALLED_MS));
    isBusy = true;
    await queue.pause(true);
    await client.upload(silenceWav(0.1)).expect(201);
    await new Promise((resolve) => setTimeout(resolve, 3 * STALLED_MS));
    expect(exits).toEqual([]);
  });
});
