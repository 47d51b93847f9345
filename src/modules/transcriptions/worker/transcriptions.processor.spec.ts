import type { Job } from 'bull';
import type { JobQueue } from '../../../platform/queue/job-queue.js';
import type { TranscriptionJob } from '../transcriptions.listener.js';
import type { TranscriptionWorkerService } from './transcription-worker.service.js';
import { TranscriptionsProcessor } from './transcriptions.processor.js';

const JOB = { data: { recordingId: 'recording' } } as Job<TranscriptionJob>;

describe('TranscriptionsProcessor', () => {
  let problem: string | null;
  let looks: number;
  let wakes: number;
  let queued: unknown[][];
  let paused: unknown[][];
  let processor: TranscriptionsProcessor;

  beforeEach(() => {
    jest.useFakeTimers();
    [problem, looks, wakes, queued, paused] = [null, 0, 0, [], []];
    const queue = {
      enqueue: async (...args: unknown[]) => void queued.push(args),
      pause: async (...args: unknown[]) => {
        paused.push(args);
        throw new Error('Redis is unavailable');
      },
    };
    const worker = {
      problem: async () => {
        looks++;
        return problem;
      },
      wake: async () => void wakes++,
    };
    processor = new TranscriptionsProcessor(
      queue as unknown as JobQueue<TranscriptionJob>,
      worker as unknown as TranscriptionWorkerService,
    );
  });

  afterEach(() => jest.useRealTimers());

  it('wakes the worker for a job', async () => {
    await processor.process(JOB);
    expect([wakes, queued]).toEqual([1, []]);
  });

  it('takes no job while the engine cannot work, which is looked at each second', async () => {
    problem = 'no model';
    let isDone = false;
    const processed = processor.process(JOB).then(() => (isDone = true));
    await jest.advanceTimersByTimeAsync(2500);
    expect([looks, isDone]).toEqual([3, false]);
    problem = null;
    await jest.advanceTimersByTimeAsync(500);
    await processed;
    expect([looks, wakes]).toEqual([4, 1]);
  });

  it('passes a job on to another process when it stops, also while it waits for the engine', async () => {
    problem = 'no model';
    const processed = processor.process(JOB);
    await jest.advanceTimersByTimeAsync(100);
    processor.onModuleDestroy();
    await jest.advanceTimersByTimeAsync(1);
    await processed;
    await processor.process(JOB);
    expect([wakes, paused]).toEqual([0, [[true, true]]]);
    expect(queued.map(([data]) => data)).toEqual([JOB.data, JOB.data]);
    const keys = queued.map(([, options]) => (options as { deduplicationKey: string }).deduplicationKey);
    expect(keys[0]).toMatch(/^passed-on-\d+$/);
  });
});
