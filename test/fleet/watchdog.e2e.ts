import { getQueueToken } from '@nestjs/bull';
import type { Queue } from 'bull';
import { Env } from '../../src/platform/config/env.js';
import { RedisService } from '../../src/platform/queue/redis.service.js';
import { QueueWatchdogService } from '../../src/platform/queue/queue-watchdog.service.js';
import { silenceWav } from '../support/audio/audio-bytes.js';
import { eventually } from '../support/service/eventually.js';
import { useService } from '../support/service/test-service.js';

const CHECK_MS = 50;
const DEAF_MS = 500;

describe('the watchdog of a queue', () => {
  let queue: Queue;
  let watchdog: QueueWatchdogService;
  let given: string[];

  const service = useService();

  beforeAll(async () => {
    queue = service.app.get<Queue>(getQueueToken('transcriptions'));
  });

  beforeEach(() => {
    given = [];
    const options = { checkMs: CHECK_MS, deafMs: DEAF_MS, giveUp: () => void given.push('up') };
    watchdog = new QueueWatchdogService(service.app.get(Env), service.app.get(RedisService), options);
    Object.assign(watchdog, { logger: { fatal: () => undefined } });
  });

  afterEach(async () => {
    watchdog.onModuleDestroy();
    await queue.resume(true);
  });

  it('gives the process up once, when it takes no job although there are some', async () => {
    watchdog.watch(queue, () => false);
    watchdog.onApplicationBootstrap();
    // As deaf as Bull can be made: this process takes nothing any more, and Redis knows nothing of it.
    await queue.pause(true);
    const client = await service.account();
    const { body } = await client.upload(silenceWav(0.1)).expect(201);
    await eventually(() => given.length > 0);
    await queue.resume(true);
    await client.finished(body.id);
    expect(given).toEqual(['up']);
  });

  it('leaves a process alone that takes jobs, that has none to take, or that has its hands full', async () => {
    let isBusy = false;
    watchdog.watch(queue, () => isBusy);
    watchdog.onApplicationBootstrap();
    const client = await service.account();
    const started = Date.now();
    while (Date.now() - started < 3 * DEAF_MS) {
      const { body } = await client.upload(silenceWav(0.1)).expect(201);
      await client.finished(body.id);
    }
    await new Promise((resolve) => setTimeout(resolve, 3 * DEAF_MS));
    isBusy = true;
    await queue.pause(true);
    await client.upload(silenceWav(0.1)).expect(201);
    await new Promise((resolve) => setTimeout(resolve, 3 * DEAF_MS));
    expect(given).toEqual([]);
  });
});
