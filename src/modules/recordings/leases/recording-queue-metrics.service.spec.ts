import { Registry } from 'prom-client';
import type { DatabaseService } from '../../../platform/database/database.service.js';
import { RecordingQueueMetricsService } from './recording-queue-metrics.service.js';

describe('RecordingQueueMetricsService', () => {
  it('reads once for all metrics, and gives no figure without Postgres', async () => {
    const registry = new Registry();
    const prepared = jest.fn().mockResolvedValue([{ length: 7, audioSeconds: 93.25, oldestSeconds: 61.5 }]);
    new RecordingQueueMetricsService({ prepared } as unknown as DatabaseService, registry).onModuleInit();
    const figures = async () => (await registry.metrics()).split('\n').filter((line) => /^[a-z]/.test(line));

    expect(await figures()).toEqual([
      'recordings_waiting 7',
      'recordings_waiting_audio_seconds 93.25',
      'recordings_waiting_seconds 61.5',
    ]);
    expect(prepared).toHaveBeenCalledTimes(1);
    prepared.mockRejectedValue(new Error('no connection'));
    expect(await figures()).toEqual([]);
    prepared.mockResolvedValue([{ length: 0, audioSeconds: 0, oldestSeconds: 0 }]);
    expect(await figures()).toEqual([
      'recordings_waiting 0',
      'recordings_waiting_audio_seconds 0',
      'recordings_waiting_seconds 0',
    ]);
  });
});
