import type { Job, Queue } from 'bull';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { ReconcilerService } from '../../../platform/reconciler/reconciler.service.js';
import type { RedisService } from '../../../platform/redis/redis.service.js';
import type { QueueWatchdogService } from '../../../platform/queue/watchdog/queue-watchdog.service.js';
import type { WebhookEventsService } from '../events/webhook-events.service.js';
import { DeliveriesProcessor } from './deliveries.processor.js';
import type { DeliveryJob } from './deliveries.queue.js';
import { DeliveriesReconciler } from './deliveries.reconciler.js';
import type { DeliveriesService } from './deliveries.service.js';
import { RedisOutageReconciler } from './redis-outage.reconciler.js';
import type { RemovedWebhooksService } from './removed-webhooks.service.js';
import type { SendLoopsService } from './send-loops/send-loops.service.js';

describe('the tasks of deliveries', () => {
  let tasks: Map<string, { run: () => Promise<void>; everyProcess: boolean }>;
  let deliveries: { webhooksWithDue: jest.Mock; failRemaining: jest.Mock };
  let removedWebhooks: { deleteRemaining: jest.Mock };
  let events: { deleteOld: jest.Mock };
  let jobs: { enqueue: jest.Mock };
  let loops: { wake: jest.Mock };
  let isUsable: boolean;

  beforeEach(() => {
    tasks = new Map();
    deliveries = {
      webhooksWithDue: jest.fn(async () => ['a', 'b', 'c']),
      failRemaining: jest.fn(),
    };
    removedWebhooks = { deleteRemaining: jest.fn() };
    events = { deleteOld: jest.fn() };
    jobs = { enqueue: jest.fn(async () => true) };
    loops = { wake: jest.fn() };
    isUsable = true;
    const reconciler = {
      register: (name: string, run: () => Promise<void>, options = { everyProcess: false }) =>
        tasks.set(name, { run, ...options }),
    } as unknown as ReconcilerService;
    new DeliveriesReconciler(
      reconciler,
      deliveries as unknown as DeliveriesService,
      removedWebhooks as unknown as RemovedWebhooksService,
      events as unknown as WebhookEventsService,
      jobs as unknown as JobQueue<DeliveryJob>,
    ).onModuleInit();
    new RedisOutageReconciler(
      reconciler,
      { isUsable: async () => isUsable } as RedisService,
      deliveries as unknown as DeliveriesService,
      loops as unknown as SendLoopsService,
    ).onModuleInit();
  });

  it('run in one process, but for the one that sends without Redis', () => {
    expect([...tasks].map(([name, { everyProcess }]) => [name, everyProcess])).toEqual([
      ['enqueue due deliveries', false],
      ['fail deliveries of disabled webhooks', false],
      ['delete deliveries of deleted webhooks', false],
      ['delete old events', false],
      ['send due deliveries without redis', true],
    ]);
  });

  it.each([
    ['fail deliveries of disabled webhooks', () => deliveries.failRemaining],
    ['delete deliveries of deleted webhooks', () => removedWebhooks.deleteRemaining],
    ['delete old events', () => events.deleteOld],
  ])('"%s" does what it says', async (name, called) => {
    await tasks.get(name)?.run();
    expect(called()).toHaveBeenCalledTimes(1);
  });

  it('enqueue each webhook once while it waits, until Redis is unavailable', async () => {
    await tasks.get('enqueue due deliveries')?.run();
    const jobOf = (webhookId: string) => [{ webhookId }, { deduplicationKey: 'due' }];
    expect(jobs.enqueue.mock.calls).toEqual(['a', 'b', 'c'].map(jobOf));
    jobs.enqueue.mockClear();
    jobs.enqueue.mockResolvedValue(false);
    await tasks.get('enqueue due deliveries')?.run();
    expect(jobs.enqueue.mock.calls).toEqual([jobOf('a')]);
  });

  it('wake the loops of the process only without Redis', async () => {
    await tasks.get('send due deliveries without redis')?.run();
    expect(deliveries.webhooksWithDue).not.toHaveBeenCalled();
    isUsable = false;
    await tasks.get('send due deliveries without redis')?.run();
    expect(loops.wake.mock.calls).toEqual([['a'], ['b'], ['c']]);
  });

  it('a job that has left Redis wakes the loop of its webhook; a process that sends is never too busy for one', () => {
    const watch = jest.fn();
    const queue = {} as Queue as JobQueue<DeliveryJob>;
    const processor = new DeliveriesProcessor(
      queue,
      loops as unknown as SendLoopsService,
      { watch } as unknown as QueueWatchdogService,
    );
    expect(watch).toHaveBeenCalledWith(queue, expect.any(Function));
    expect(watch.mock.calls[0][1]()).toBe(false);
    processor.process();
    expect(loops.wake).not.toHaveBeenCalled();
    processor.wake({ data: { webhookId: 'a' } } as Job<DeliveryJob>);
    expect(loops.wake.mock.calls).toEqual([['a']]);
  });
});
