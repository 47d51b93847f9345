import { Logger } from '@nestjs/common';
import { LEASE, pass, RunSetup } from '../../../../test/support/worker/run-setup.js';
import { ObjectNotFoundError, StorageUnavailableError } from '../../../platform/storage/file-system.js';
import type { Lease } from '../../recordings/leases/recording-leases.service.js';
import { NoEngineError } from '../engines/engine-failures.js';
import { AudioRejectedError, EngineError } from '../engines/transcription-engine.js';
import { LongerThanCountedError } from './transcriber.service.js';
import { WorkerStoppingError } from './transcription-run.service.js';

/** Everything that an engine may be told. */
const TOLD = {
  accountId: 'account',
  sampleRate: 48_000,
  channels: 2,
  separateChannels: true,
  language: 'english',
};

describe('TranscriptionRunService', () => {
  let setup: RunSetup;

  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));

  beforeEach(() => {
    jest.useFakeTimers();
    setup = new RunSetup();
  });

  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  it('renews the lease four times in its length while it works, and no more when it has ended', async () => {
    const run = setup.perform();
    await pass(60);
    expect(setup.renewals).toBe(4);
    setup.work?.finish();
    await run;
    expect(setup.written).toEqual(['transcribed']);
    await pass(120);
    expect(setup.renewals).toBe(4);
  });

  it('ends the work at the first renewal that finds the lease lost, and writes nothing', async () => {
    setup.renewal = () => Promise.resolve(false);
    const run = setup.perform();
    await pass(14);
    expect(setup.work?.signal.aborted).toBe(false);
    await pass(1);
    expect(setup.work?.signal.aborted).toBe(true);
    await run;
    expect(setup.written).toEqual([]);
  });

  it('goes on while Postgres does not answer, however long, and saves what it has then', async () => {
    setup.renewal = () => Promise.reject(new Error('no connection'));
    const run = setup.perform();
    await pass(600);
    expect(setup.work?.signal.aborted).toBe(false);
    setup.renewal = () => Promise.resolve(true);
    await pass(15);
    setup.work?.finish();
    await run;
    expect(setup.written).toEqual(['transcribed']);
  });

  it('releases the recording and wakes another worker when it is stopped', async () => {
    const run = setup.perform();
    setup.stopping.abort(new WorkerStoppingError());
    await run;
    expect(setup.written).toEqual(['released 0 0 0', 'enqueued recording']);
  });

  it('fails a recording whose audio is gone', async () => {
    await setup.performed(LEASE, ({ fail }) => fail(new ObjectNotFoundError('Object not found: key')));
    expect(setup.written).toEqual(['failed: The audio is no longer in storage.']);
  });

  it('waits longer the longer the storage is unavailable, and starts again at the shortest wait once it works', async () => {
    const storageIsAway = () => setup.performed(LEASE, ({ fail }) => fail(new StorageUnavailableError('no answer')));
    await storageIsAway();
    await pass(20);
    await storageIsAway();
    await setup.performed();
    await storageIsAway();
    expect(setup.written).toEqual(['released 5 0 0', 'released 20 0 0', 'transcribed', 'released 5 0 0']);
  });

  it('gives a recording back unchanged when no engine for it works, and waits when one was tried', async () => {
    setup.candidates = () => Promise.reject(new NoEngineError('the engine is down', 40, false));
    await setup.perform();
    setup.candidates = () => Promise.reject(new NoEngineError('the engine is down', 40, true));
    await setup.perform();
    setup.candidates = () => Promise.reject(new NoEngineError('the engine is down', 40, false));
    await setup.perform({ ...LEASE, rerun: 'background' });
    expect(setup.written).toEqual(['put back', 'released 40 0 0', 'released 40 0 0']);
  });

  it('fails a recording whose language no engine takes, before its audio is read', async () => {
    setup.candidates = () => Promise.reject(new AudioRejectedError('Language not supported: german.'));
    await setup.perform();
    expect(setup.work).toBeUndefined();
    expect(setup.written).toEqual(['failed: Language not supported: german.']);
  });

  it('tells the engines what is known of the recording, and of its text who listens', async () => {
    const lease = {
      ...LEASE,
      ...TOLD,
      audioFormat: 'ogg',
      attempt: 3,
      requestedEngine: 'one',
      rerun: 'quiet',
    } as Lease;
    await setup.performed({ ...lease, vocabulary: ['Zoë'], accountVocabulary: ['Grafana'] });
    expect(setup.asked).toMatchObject([{ id: 'recording' }, 'one']);
    expect(setup.given).toMatchObject({ ...TOLD, file: 'file', format: 'ogg', countedSeconds: 1, isBackground: true });
    expect(setup.given?.vocabulary).toEqual({ upload: ['Zoë'], account: ['Grafana'] });
    const piece = { type: 'chunk', attempt: 3, offset: 3, text: ' there', provider: 'fake', model: 'fake-1' };
    expect(setup.published).toEqual([['recording', piece]]);
    await setup.performed();
    expect(setup.given).toMatchObject({ isBackground: false });
    expect(setup.given).not.toHaveProperty('vocabulary');
  });

  describe('of which the upload could not tell the length', () => {
    const ESTIMATED = { ...LEASE, bitRate: null };

    it('counts what is decoded before an engine is used, and rules no engine out before', async () => {
      await setup.performed(ESTIMATED);
      expect(setup.written).toEqual(['measured', 'settled 3000', 'transcribed']);
      expect(setup.asked).toMatchObject([{ durationMs: 0 }, undefined]);
      expect(setup.given).toMatchObject({ countedSeconds: 3 });
    });

    it('uses no engine where the month has no room for it', async () => {
      setup.fits = false;
      await setup.performed(ESTIMATED);
      expect([setup.written, setup.given]).toEqual([['measured', 'settled 3000'], undefined]);
    });

    it('counts nothing when it is transcribed again, because its length was decoded', async () => {
      await setup.performed({ ...ESTIMATED, rerun: 'requested' });
      expect(setup.written).toEqual(['transcribed']);
    });
  });

  it('counts the rest of audio that is longer than what was counted, and transcribes it then', async () => {
    setup.errors = [new LongerThanCountedError()];
    await setup.performed();
    expect(setup.written).toEqual(['refused', 'measured', 'settled 3000', 'transcribed']);
    expect(setup.given).toMatchObject({ countedSeconds: 3 });
    setup.written.length = 0;
    setup.errors = [new LongerThanCountedError()];
    setup.fits = false;
    await setup.performed();
    expect(setup.written).toEqual(['refused', 'measured', 'settled 3000']);
  });

  it('writes what was heard, how long it is, and how long that took, all in milliseconds', async () => {
    const heard = { text: 'hi', confidence: 0.5, language: 'german', words: [], model: 'm' };
    setup.result = { ...setup.result, ...heard, durationSeconds: 1.2346, speechSeconds: 0.5, noSpeech: false };
    const run = setup.perform();
    await pass(2.5);
    setup.work?.finish();
    await run;
    expect(setup.outcome).toEqual({
      status: 'transcribed',
      transcript: { ...heard, provider: 'fake', processingDurationMs: 2500 },
      features: { speech_seconds: 0.5, no_speech: false },
      durationMs: 1235,
      peaks: setup.result.peaks,
    });
    setup.result = { ...setup.result, vocabulary: ['Zoë'], punctuationAdded: true };
    await setup.performed({ ...LEASE, ...TOLD });
    expect(setup.outcome).toMatchObject({ features: { channels: 2, vocabulary: ['Zoë'], punctuation: 'added' } });
  });

  it('writes who speaks, or why that is not known, only where it was asked for', async () => {
    const asked = { ...LEASE, speakers: 0 };
    setup.result = { ...setup.result, speakers: { count: 2, model: 'voices' }, speakersProblem: null };
    await setup.performed(asked);
    expect(setup.given).toMatchObject({ speakers: 0, rerunOf: null });
    expect(setup.outcome).toHaveProperty('features.speakers', { count: 2, model: 'voices' });
    expect(setup.outcome).not.toHaveProperty('features.speakers_problem');
    setup.result = { ...setup.result, speakers: null, speakersProblem: 'No models.' };
    await setup.performed({ ...asked, rerun: 'background' });
    expect(setup.given).toMatchObject({ rerunOf: 'recording' });
    expect(setup.outcome).toMatchObject({ features: { speakers: null, speakers_problem: 'No models.' } });
  });

  it.each([
    { attempt: 1, seconds: 2 },
    { attempt: 5, seconds: 32 },
    { attempt: 10, seconds: 1024 },
    { attempt: 11, seconds: 1800 },
    { attempt: 19, seconds: 1800 },
  ])('waits $seconds s after attempt $attempt, and counts it', async ({ attempt, seconds }) => {
    await setup.performed({ ...LEASE, attempt }, ({ fail }) => fail(new EngineError('answered 500', false)));
    await setup.performed({ ...LEASE, attempt, faults: 3 }, ({ fail }) => fail(new EngineError('lost', true)));
    await setup.performed({ ...LEASE, attempt, faults: 3 }, ({ fail }) => fail(new Error('unknown')));
    expect(setup.written).toEqual([`released ${seconds} 1 0`, `released ${seconds} 1 1`, `released ${seconds} 1 1`]);
  });

  it('fails at the fifth crash, and logs each attempt that failed', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const error = new EngineError('lost', true);
    await setup.performed({ ...LEASE, attempt: 7, faults: 4 }, ({ fail }) => fail(error));
    await setup.performed({ ...LEASE, faults: 4 }, ({ fail }) => fail(new EngineError('answered 500', false)));
    expect(setup.written).toEqual(['failed: The engine crashed 5 times on this recording.', 'released 2 1 0']);
    const fields = { err: error, recording_id: 'recording', attempt: 7 };
    expect(warn.mock.calls[0]).toEqual([fields, 'transcription attempt failed']);
  });

  it('counts nothing while the decoder of the process does not work, but for a crash', async () => {
    setup.decodingProblem = 'ffmpeg is not installed';
    await setup.performed(LEASE, ({ fail }) => fail(new EngineError('not started', false)));
    await setup.performed(LEASE, ({ fail }) => fail(new EngineError('lost', true)));
    expect(setup.written).toEqual(['released 5 0 0', 'released 2 1 1']);
  });

  it('reads no audio when it was stopped while it looked for engines', async () => {
    setup.candidates = async () => {
      setup.stopping.abort(new WorkerStoppingError());
      return {};
    };
    await setup.perform();
    expect(setup.work).toBeUndefined();
    expect(setup.written).toEqual(['released 0 0 0', 'enqueued recording']);
    await pass(0.001);
    await setup.perform();
    expect(new Set(setup.jobKeys).size).toBe(2);
  });

  it('writes the transcript once Postgres is back, unless it is stopped before', async () => {
    setup.refusals = Array.from({ length: 3 }, () => new Error('Connection terminated unexpectedly'));
    const run = setup.perform();
    await pass(0);
    setup.work?.finish();
    await pass(0.8);
    expect(setup.written).toEqual([]);
    await pass(0.2);
    await run;
    expect(setup.written).toEqual(['transcribed']);
    setup.refusals = Array.from({ length: 100 }, () => new Error('Connection terminated unexpectedly'));
    const stopped = setup.perform();
    await pass(0);
    setup.work?.finish();
    await pass(1);
    setup.stopping.abort(new WorkerStoppingError());
    await stopped;
    expect(setup.written).toEqual(['transcribed', 'released 0 0 0', 'enqueued recording']);
  });
});
