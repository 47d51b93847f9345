import { Registry } from 'prom-client';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import { RecordingQueueMetricsService } from './recording-queue-metrics.service.js';

describe('RecordingQueueMetricsService', () => {
  afterEach(() => jest.restoreAllMocks());

  it('reads once for all metrics, and gives no figure without Postgres', async () => {
    const registry = new Registry();
    const queue = jest.fn().mockResolvedValue([{ length: 7, audioSeconds: 93.25, oldestSeconds: 61.5 }]);
    const oldest = jest.fn().mockResolvedValue([
      { plan: 'pro', oldestSeconds: 61.5 },
      { plan: 'gone', oldestSeconds: 9 },
      { plan: 'free', oldestSeconds: 3 },
    ]);
    const prepared = async (sql: string) => await (sql.includes('a.plan') ? oldest() : queue());
    new RecordingQueueMetricsService({ prepared } as unknown as DatabaseService, registry).onModuleInit();
    const figures = async () => (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));

    expect(await figures()).toEqual([
      'recordings_waiting 7',
      'recordings_waiting_audio_seconds 93.25',
      'recordings_waiting_seconds 61.5',
      'recordings_unprocessed_seconds{plan="free"} 9',
      'recordings_unprocessed_seconds{plan="pro"} 61.5',
      'recordings_unprocessed_seconds{plan="enterprise"} 0',
    ]);
    for (const read of [queue, oldest]) {
      expect(read).toHaveBeenCalledTimes(1);
      read.mockRejectedValue(new Error('no connection'));
    }
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_001);
    expect(await figures()).toEqual([]);
    queue.mockResolvedValue([{ length: 0, audioSeconds: 0, oldestSeconds: 0 }]);
    oldest.mockResolvedValue([]);
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_001);
    expect(await figures()).toEqual([
      'recordings_waiting 0',
      'recordings_waiting_audio_seconds 0',
      'recordings_waiting_seconds 0',
      ...['free', 'pro', 'enterprise'].map((plan) => `recordings_unprocessed_seconds{plan="${plan}"} 0`),
    ]);
  });
});
