import { Registry } from 'prom-client';
import type { Lease } from '../../recordings/leases/recording-leases.service.js';
import { TranscriptionServiceLevel } from './transcription-service-level.js';

const LEASE = { plan: 'pro', ageSeconds: 2, run: 1, rerun: null, isTakenOver: false } as Lease;

describe('TranscriptionServiceLevel', () => {
  let registry: Registry;
  let level: TranscriptionServiceLevel;

  beforeEach(() => {
    registry = new Registry();
    level = new TranscriptionServiceLevel(registry);
  });
  afterEach(() => jest.restoreAllMocks());

  const said = async (name: string) =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith(`${name}{`));

  /** Takes so many seconds from the claim on. */
  function end(lease: Partial<Lease>, durationMs: number, seconds: number, engine: string | null = 'fake'): void {
    jest.spyOn(performance, 'now').mockReturnValueOnce(0);
    const ended = level.begin({ ...LEASE, ...lease });
    jest.spyOn(performance, 'now').mockReturnValueOnce(seconds * 1000);
    ended({ engine, durationMs });
  }

  it.each([
    ['at twice its length and 5 s after its upload', 10_000, 23, 1],
    ['later', 10_000, 23.1, 0],
    ['of no length within 5 s', 0, 3, 1],
  ])('counts a text %s', async (_, durationMs, seconds, onTime) => {
    end({}, durationMs, seconds);
    expect(await said('transcriptions_total')).toEqual(['transcriptions_total{plan="pro",engine="fake"} 1']);
    expect(await said('transcriptions_on_time_total')).toEqual([
      `transcriptions_on_time_total{plan="pro",engine="fake"} ${onTime}`,
    ]);
  });

  it('counts crashes of the engine, and a plan that is gone as the default one', async () => {
    end({ plan: 'gone' }, 10_000, 1, null);
    expect(await said('transcriptions_total')).toEqual(['transcriptions_total{plan="free",engine="none"} 1']);
    expect(await said('transcriptions_on_time_total')).toEqual([
      'transcriptions_on_time_total{plan="free",engine="none"} 0',
    ]);
  });

  it('counts neither what is transcribed again nor what goes on', async () => {
    end({ run: 2 }, 10_000, 1);
    end({ rerun: 'background' }, 10_000, 1);
    level.begin(LEASE)(null);
    expect(await said('transcriptions_total')).toEqual([]);
  });

  it('counts what was taken over from a lost worker', async () => {
    level.begin(LEASE);
    level.begin({ ...LEASE, isTakenOver: true });
    expect(await said('repairs_total')).toContain('repairs_total{kind="recording_taken_over"} 1');
  });
});
