import { randomUUID } from 'node:crypto';
import { getQueueToken } from '@nestjs/bull';
import type { Queue } from 'bull';
import { Redis } from 'ioredis';
import {
  type Lease,
  type Outcome,
  RecordingLeasesService,
} from '../../src/modules/recordings/leases/recording-leases.service.js';
import { AudioRejectedError, EngineError } from '../../src/modules/transcriptions/engines/transcription-engine.js';
import { NoEngineError } from '../../src/modules/transcriptions/engines/engine-failures.js';
import { TranscriptionWorkerService } from '../../src/modules/transcriptions/worker/transcription-worker.service.js';
import type { EngineChainService } from '../../src/modules/transcriptions/worker/engine-chain.service.js';
import { PartialTextsService } from '../../src/modules/transcriptions/partial-texts.service.js';
import { TranscriptSignalsService } from '../../src/modules/transcriptions/transcript-signals.service.js';
import { TextProgressService } from '../../src/modules/transcriptions/worker/text-progress.service.js';
import {
  TRANSCRIPTION_QUEUE,
  type TranscriptionJob,
} from '../../src/modules/transcriptions/transcriptions.listener.js';
import {
  TranscriptionRunService,
  WorkerStoppingError,
} from '../../src/modules/transcriptions/worker/transcription-run.service.js';
import { Env } from '../../src/platform/config/env.js';
import type { JobQueue } from '../../src/platform/queue/job-queue.js';
import { ObjectStore } from '../../src/platform/storage/object-store.js';
import { StorageUnavailableError } from '../../src/platform/storage/file-system.js';
import { silenceWav, wav } from '../support/audio/audio-bytes.js';
import type { ApiClient } from '../../src/testing/api-client.js';
import { checkRows } from '../support/check-rows.js';
import { cpuSecondsOf, engineProcesses } from '../support/service/process-stats.js';
import { eventually } from '../../src/testing/eventually.js';
import { speech } from '../../src/testing/speech.js';
import { useService } from '../../src/testing/test-service.js';
import { expectUploadState, settledUploadState } from '../support/state/upload-state.js';

/** Claims of one run, after which nobody is to blame and nobody tries again. */
const MAX_ATTEMPTS = 20;

const TRANSCRIBED: Outcome = {
  status: 'transcribed',
  transcript: {
    text: 'hello',
    confidence: 0.9,
    language: 'english',
    provider: 'test',
    model: 'test',
    processingDurationMs: 1,
    words: [],
  },
  features: { speech_seconds: 0.1, no_speech: false },
  durationMs: 100,
  peaks: Buffer.alloc(0),
};
const FAILED: Outcome = { status: 'failed', reason: 'a test' };

/** Takes uploads and does no work: only the test does. */
const api = useService({ ROLES: 'api' });
const { environment } = api;
let processing: RecordingLeasesService;
let client: ApiClient;

beforeAll(async () => {
  processing = api.app.get(RecordingLeasesService);
});

beforeEach(async () => {
  client = await api.account();
  // Otherwise a claim could give what an earlier test has left.
  await api.database.query(`DELETE FROM recordings WHERE status = 'processing'`);
});

interface Row {
  status: string;
  attempt: number;
  faults: number;
  leaseToken: string | null;
  /** Seconds from now. */
  lease: number | null;
  reason: string | null;
}

async function rowOf(id: string): Promise<Row> {
  const [row] = await api.database.query<Row>(
    `SELECT status, attempt, faults, lease_token AS "leaseToken", failure_reason AS reason,
       extract(epoch FROM lease_until - now())::float8 AS lease FROM recordings WHERE id = $1`,
    [id],
  );
  if (!row) throw new Error(`recording ${id} is gone`);
  return row;
}

const count = async (table: string, id: string, where = 'true'): Promise<number> => {
  const [row] = await api.database.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM ${table} WHERE recording_id = $1 AND ${where}`,
    [id],
  );
  return row?.count ?? -1;
};

/** Without those of the upload and of the deletion. */
const countOutcomes = (id: string): Promise<number> =>
  count('events', id, `kind IN ('recording.transcribed', 'recording.failed')`);

const set = (id: string, assignments: string): Promise<unknown[]> =>
  api.database.query(`UPDATE recordings SET ${assignments} WHERE id = $1`, [id]);

/** As if the lease of the recording had expired, or its delay were over. */
const expire = (id: string) => set(id, `lease_until = now() - interval '1 second'`);

async function uploaded(audio: string | Buffer = silenceWav(0.1), fields = {}): Promise<string> {
  const { body } = await client.upload(audio, fields).expect(201);
  return body.id;
}

async function claimed(id: string): Promise<Lease> {
  const lease = await processing.claimNext();
  if (lease?.id !== id) throw new Error('it was not claimed');
  return lease;
}

describe('a claim', () => {
  it('is given to one of any number of workers at the same time', async () => {
    const id = await uploaded();
    const claims = await Promise.all(Array.from({ length: 20 }, () => processing.claimNext()));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await rowOf(id)).toMatchObject({ attempt: 1 });
  });

  async function expectWholeLease(id: string): Promise<void> {
    const { leaseSeconds } = api.app.get(Env);
    const { lease } = await rowOf(id);
    expect(lease).toBeGreaterThan(leaseSeconds - 5);
    expect(lease).toBeLessThanOrEqual(leaseSeconds);
  }

  it('holds for LEASE_SECONDS and is renewed only by its holder', async () => {
    const id = await uploaded();
    const lease = await claimed(id);
    await expectWholeLease(id);
    await set(id, `lease_until = now() + interval '1 second'`);
    expect(await processing.renew({ ...lease, leaseToken: '00000000-0000-4000-8000-000000000000' })).toBe(false);
    expect((await rowOf(id)).lease).toBeLessThan(1);
    expect(await processing.renew(lease)).toBe(true);
    await expectWholeLease(id);
  });

  it('is taken over when its lease has expired; the first holder can then neither renew, release nor finish', async () => {
    const id = await uploaded();
    const first = await claimed(id);
    await expire(id);
    const second = await claimed(id);
    expect(second).toMatchObject({ attempt: 2 });
    expect(second.leaseToken).not.toBe(first.leaseToken);
    expect(await processing.renew(first)).toBe(false);
    await processing.release(first, { faults: 1 });
    expect(await rowOf(id)).toMatchObject({ attempt: 2, faults: 0, leaseToken: second.leaseToken });
    expect(await processing.finish(first, FAILED)).toBe(false);
    expect([await countOutcomes(id), await count('transcriptions', id)]).toEqual([0, 0]);
    expect(await processing.finish(second, TRANSCRIBED)).toBe(true);
    expect(await rowOf(id)).toMatchObject({ status: 'transcribed', leaseToken: null });
    expect([await countOutcomes(id), await count('transcriptions', id)]).toEqual([1, 1]);
  });

  it('is not given to the worker that holds the recording, although the lease has expired', async () => {
    const id = await uploaded();
    await claimed(id);
    await expire(id);
    expect(await processing.claimNext({ held: [randomUUID(), id] })).toBeNull();
    const others = [{ accountId: randomUUID(), spoken: null, minDurationMs: 0 }];
    expect(await processing.claimNext({ held: [id], except: { sharedEnginesDown: false, others } })).toBeNull();
    expect(await processing.claimNext({ held: [randomUUID()] })).toMatchObject({ id, attempt: 2 });
  });

  it('is not given before the delay of a released recording is over', async () => {
    const id = await uploaded();
    await processing.release(await claimed(id), { delaySeconds: 60, attempts: 1, faults: 1 });
    expect(await rowOf(id)).toMatchObject({ attempt: 1, faults: 1, leaseToken: null });
    expect(await processing.claimNext()).toBeNull();
    await expire(id);
    expect(await processing.claimNext()).toMatchObject({ attempt: 2 });
  });

  it('is not given for what is transcribed, failed or deleted', () =>
    checkRows([[TRANSCRIBED], [FAILED]], async (outcome) => {
      const id = await uploaded();
      await processing.finish(await claimed(id), outcome);
      expect(await processing.claimNext()).toBeNull();
      await client.delete(`/v1/recordings/${id}`).expect(204);
      expect(await processing.claimNext()).toBeNull();
    }));

  it('is given for a new run after a retry, with attempts and faults at 0 (D23)', async () => {
    const id = await uploaded();
    const lease = await claimed(id);
    await set(id, 'faults = 4');
    await processing.finish(lease, FAILED);
    await client.post(`/v1/recordings/${id}/retry`).expect(202);
    expect(await claimed(id)).toMatchObject({ attempt: 1, faults: 0 });
  });
});

describe('the end of a run', () => {
  it('is written once: a repeated finish, as after an unknown COMMIT, changes nothing', async () => {
    const id = await uploaded();
    const lease = await claimed(id);
    const finishes = await Promise.all(Array.from({ length: 8 }, () => processing.finish(lease, TRANSCRIBED)));
    expect(finishes.filter(Boolean)).toHaveLength(1);
    expect(await processing.finish(lease, FAILED)).toBe(false);
    expect([await countOutcomes(id), await count('transcriptions', id)]).toEqual([1, 1]);
    expect(await rowOf(id)).toMatchObject({ status: 'transcribed' });
  });

  it('is all or nothing: when a part of it cannot be written, the recording is still held', async () => {
    const id = await uploaded();
    const lease = await claimed(id);
    const impossible = { ...TRANSCRIBED, transcript: { ...TRANSCRIBED.transcript, confidence: 7 } } as Outcome;
    await expect(processing.finish(lease, impossible)).rejects.toThrow('transcriptions_confidence_check');
    expect(await rowOf(id)).toMatchObject({ status: 'processing', leaseToken: lease.leaseToken });
    expect([await countOutcomes(id), await count('transcriptions', id)]).toEqual([0, 0]);
    expect(await processing.finish(lease, TRANSCRIBED)).toBe(true);
  });

  it('concurrent with a delete: one event or none, and nothing else stays behind (D24)', async () => {
    const before = await settledUploadState(api, environment);
    const outcomes: number[] = [];
    for (let round = 0; round < 12; round++) {
      const id = await uploaded();
      const lease = await claimed(id);
      const [finished] = await Promise.all([
        processing.finish(lease, round % 2 === 0 ? TRANSCRIBED : FAILED),
        client.delete(`/v1/recordings/${id}`).expect(204),
      ]);
      expect(await countOutcomes(id)).toBe(finished ? 1 : 0);
      expect(await count('transcriptions', id)).toBe(0);
      outcomes.push(finished ? 1 : 0);
    }
    await expectUploadState(api, environment, before);
    const { body } = await client.get('/v1/recordings').expect(200);
    expect(body.total).toBe(0);
  });
});

describe('the table itself refuses invalid changes', () => {
  const TO_TRANSCRIBED = `status = 'transcribed', processed_at = now(), failure_reason = NULL, features = '{}'`;
  const TO_FAILED = `status = 'failed', processed_at = now(), failure_reason = 'x', features = NULL`;
  const TO_PROCESSING = `status = 'processing', processed_at = NULL, failure_reason = NULL, features = NULL`;

  it('of a status that is final', () =>
    checkRows<[what: string, outcome: Outcome, change: string]>(
      [
        ['transcribed → processing', TRANSCRIBED, TO_PROCESSING],
        ['transcribed → processing, as a new run', TRANSCRIBED, `${TO_PROCESSING}, run = run + 1`],
        ['transcribed → failed', TRANSCRIBED, TO_FAILED],
        ['failed → transcribed', FAILED, TO_TRANSCRIBED],
        ['failed → processing in the same run', FAILED, TO_PROCESSING],
        ['failed → processing two runs on', FAILED, `${TO_PROCESSING}, run = run + 2`],
      ],
      async (_, outcome, change) => {
        const id = await uploaded();
        await processing.finish(await claimed(id), outcome);
        await expect(set(id, change)).rejects.toThrow(`is ${outcome.status}: its status cannot become`);
      },
    ));

  it('a failed recording can only become processing, as the next run', async () => {
    const id = await uploaded();
    await processing.finish(await claimed(id), FAILED);
    await set(id, `${TO_PROCESSING}, run = run + 1`);
    expect(await rowOf(id)).toMatchObject({ status: 'processing' });
  });

  it('of a state that contradicts itself', async () => {
    const id = await uploaded();
    await checkRows(
      [
        ['transcribed without features', `status = 'transcribed', processed_at = now()`],
        ['failed without a reason', `status = 'failed', processed_at = now()`],
        ['a terminal state without its time', `status = 'failed', failure_reason = 'x'`],
        ['processing with a reason', `failure_reason = 'x'`],
        ['a terminal state that is still held', `${TO_FAILED}, lease_token = gen_random_uuid()`],
        ['another status', `status = 'queued'`],
      ],
      async (_, change) => {
        await expect(set(id, change)).rejects.toThrow(/recordings_(state|status)_check/);
      },
    );
  });
});

describe('an attempt that fails', () => {
  /** The run of a worker whose engines do as they are told. */
  function runWith(transcribe: () => Promise<never>, problem: string | null = null): TranscriptionRunService {
    const chain = {
      candidatesFor: async () => ({ inOrder: [], problems: [] }),
      transcribe,
      decodingProblem: async () => problem,
    } as unknown as EngineChainService;
    const { app } = api;
    return new TranscriptionRunService(
      processing,
      chain,
      app.get(ObjectStore),
      app.get<JobQueue<TranscriptionJob>>(getQueueToken(TRANSCRIPTION_QUEUE)),
      app.get(Env),
      new TextProgressService(app.get(TranscriptSignalsService), app.get(PartialTextsService)),
    );
  }

  const throwing = (error: Error, problem: string | null = null) => runWith(() => Promise.reject(error), problem);
  const going = new AbortController().signal;

  it('by a crash is repeated after 2, 4, 8 and 16 s; the 5th crash fails the recording, with one event', async () => {
    const id = await uploaded();
    const run = throwing(new EngineError('The engine process was lost', true));
    for (const [i, wait] of [2, 4, 8, 16].entries()) {
      const attempt = i + 1;
      const lease = await claimed(id);
      const started = performance.now();
      await run.perform(lease, going);
      const row = await rowOf(id);
      const passed = (performance.now() - started) / 1000;
      expect(row).toMatchObject({ status: 'processing', attempt, faults: attempt, leaseToken: null });
      // What is left of the wait, of which at most `passed` is over.
      expect(row.lease).toBeLessThanOrEqual(wait);
      expect((row.lease ?? 0) + passed).toBeGreaterThan(wait - 0.01);
      expect(await countOutcomes(id)).toBe(0);
      await expire(id);
    }
    await run.perform(await claimed(id), going);
    expect(await rowOf(id)).toMatchObject({
      status: 'failed',
      reason: 'The engine crashed 5 times on this recording.',
    });
    expect(await countOutcomes(id)).toBe(1);
  });

  it('by an engine whose answer clears the audio is repeated, and blames nobody', async () => {
    const id = await uploaded();
    const run = throwing(new EngineError('no transcript', false));
    for (let attempt = 1; attempt <= 6; attempt++) {
      await run.perform(await claimed(id), going);
      expect(await rowOf(id)).toMatchObject({ status: 'processing', attempt, faults: 0 });
      await expire(id);
    }
  });

  it('by what is no fault of the recording never counts, however often it is repeated', () =>
    checkRows<[what: string, error: Error, problem: string | null]>(
      [
        ['a store that is out of reach', new StorageUnavailableError('no disk'), null],
        ['an engine that refuses all work', new NoEngineError('the quota is used up', 5, true), null],
        ['a decoder that is not installed', new EngineError('no ffmpeg', false), 'it is not installed'],
      ],
      async (_, error, problem) => {
        const id = await uploaded();
        const run = throwing(error, problem);
        for (let attempt = 1; attempt <= 3; attempt++) {
          await run.perform(await claimed(id), going);
          const row = await rowOf(id);
          expect(row).toMatchObject({ status: 'processing', attempt: 0, faults: 0, leaseToken: null });
          expect(row.lease).toBeLessThanOrEqual(5);
          await expire(id);
        }
        await client.delete(`/v1/recordings/${id}`).expect(204);
      },
    ));

  it('by audio that is refused fails the recording at once, with the reason', async () => {
    const id = await uploaded();
    await throwing(new AudioRejectedError('The sample rate is absurd')).perform(await claimed(id), going);
    expect(await rowOf(id)).toMatchObject({ status: 'failed', attempt: 1, reason: 'The sample rate is absurd' });
  });

  it('by a stop of the worker is released at once and does not count', async () => {
    const id = await uploaded();
    const stopping = new AbortController();
    stopping.abort(new WorkerStoppingError());
    await throwing(new Error('whatever')).perform(await claimed(id), stopping.signal);
    expect(await rowOf(id)).toMatchObject({ status: 'processing', attempt: 0, faults: 0, leaseToken: null });
    expect(await claimed(id)).toMatchObject({ attempt: 1 });
  });
});

describe('overdue work', () => {
  it('fails after 20 attempts, but not while the last one is in progress', async () => {
    const id = await uploaded();
    await set(id, `attempt = ${MAX_ATTEMPTS - 1}, lease_until = now() - interval '1 second'`);
    const last = await claimed(id);
    await processing.failExhausted();
    expect(await rowOf(id)).toMatchObject({ status: 'processing', attempt: MAX_ATTEMPTS });
    await expire(id);
    expect(await processing.claimNext()).toBeNull();
    await Promise.all([processing.failExhausted(), processing.failExhausted()]);
    expect(await rowOf(id)).toMatchObject({ status: 'failed', reason: expect.stringMatching(/20 attempts/) });
    expect(await countOutcomes(id)).toBe(1);
    expect(await processing.finish(last, TRANSCRIBED)).toBe(false);
  });
});

describe('with a worker and the real engine', () => {
  // A heartbeat every second.
  const worker = useService({ ROLES: 'worker', LEASE_SECONDS: '4' }, { environment });
  let redis: Redis;

  beforeAll(async () => {
    redis = new Redis(environment.variables.REDIS_URL as string);
  });

  afterAll(async () => {
    redis.disconnect();
    await worker.close();
  });

  /** The engine gives way to everything else on the machine. */
  const finished = (id: string) =>
    eventually(async () => (await rowOf(id)).status !== 'processing' && (await rowOf(id)), 90_000);
  /** The engine takes more than a second of CPU time for it. */
  async function twoSentences(): Promise<Buffer> {
    const samples = (await speech('go-forward-ten-meters.wav')).subarray(44);
    return wav({ data: Buffer.concat([samples, samples]) });
  }

  /** A process of the engine that is ready and has nothing to do, and the CPU time that it has used so far. */
  async function warmEngine(): Promise<{ child: number; idle: number }> {
    await finished(await uploaded('cards-001.wav'));
    const [child] = engineProcesses() as [number];
    return { child, idle: cpuSecondsOf(child) };
  }

  it('a note whose engine process is killed is transcribed by another one, and has one fault', async () => {
    const { child, idle } = await warmEngine();
    const id = await uploaded(await twoSentences());
    await eventually(() => cpuSecondsOf(child) > idle + 0.1);
    process.kill(child, 'SIGKILL');
    expect(await finished(id)).toMatchObject({ status: 'transcribed' });
    expect(await rowOf(id)).toMatchObject({ attempt: 2, faults: 1 });
    expect(await countOutcomes(id)).toBe(1);
    const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
    expect(body.text).toBe('go forward ten meters go forward ten meters');
  });

  it('jobs that Redis lost are not needed: FLUSHALL right after the upload, and in the middle of a note', async () => {
    const queue = worker.app.get<Queue>(getQueueToken(TRANSCRIPTION_QUEUE));
    await queue.pause(true);
    const id = await uploaded(await twoSentences());
    await redis.flushdb();
    await queue.resume(true);
    await eventually(async () => (await rowOf(id)).leaseToken !== null);
    await redis.flushdb();
    expect(await finished(id)).toMatchObject({ status: 'transcribed', attempt: 1 });
    expect(await countOutcomes(id)).toBe(1);
  });

  it('a recording that is deleted while it is transcribed leaves nothing and says nothing (D24)', async () => {
    const { child, idle } = await warmEngine();
    const before = await settledUploadState(api, environment);
    const id = await uploaded('jfk.wav');
    await eventually(() => cpuSecondsOf(child) > idle + 0.1);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    // The next renewal matches no row: the chunks so far are discarded and no more are transcribed.
    const { app } = worker;
    await eventually(() => app.get(TranscriptionWorkerService).recordings === 0, 20_000);
    expect([await countOutcomes(id), await count('transcriptions', id)]).toEqual([0, 0]);
    await expectUploadState(api, environment, before);
  });
});
