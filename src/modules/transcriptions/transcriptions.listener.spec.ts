import type { Tx } from '../../platform/database/database.service.js';
import { EventBus } from '../../platform/database/event-bus.js';
import type { JobQueue } from '../../platform/queue/job-queue.js';
import {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  type RecordingSnapshot,
  RecordingTranscribed,
  RerunRequested,
  type Transcript,
} from '../recordings/recordings.events.js';
import type { PartialTextsService } from './partial-texts.service.js';
import type { RetranscriptionsService } from './retranscriptions.service.js';
import type { TranscriptSignalsService } from './transcript-signals.service.js';
import { type TranscriptionJob, TranscriptionsListener } from './transcriptions.listener.js';
import type { TranscriptionsService } from './transcriptions.service.js';

const RECORDING = { id: 'recording', accountId: 'account', run: 2 } as RecordingSnapshot;

describe('TranscriptionsListener', () => {
  let done: unknown[];
  let bus: EventBus;

  beforeEach(() => {
    done = [];
    bus = new EventBus();
    const note =
      (what: string) =>
      async (...given: unknown[]): Promise<void> =>
        void done.push([what, ...given]);
    new TranscriptionsListener(
      bus,
      { enqueue: note('enqueue') } as unknown as JobQueue<TranscriptionJob>,
      { store: async () => void done.push(['store']) } as unknown as TranscriptionsService,
      { publish: note('publish') } as unknown as TranscriptSignalsService,
      {
        countFailure: async (_: Tx, id: string) => void done.push(['failed', id]),
      } as unknown as RetranscriptionsService,
      { remove: async () => undefined } as unknown as PartialTextsService,
    ).onModuleInit();
  });

  /** @returns what is done within the transaction, and what after its commit. */
  async function emitted(event: object): Promise<[unknown[], unknown[]]> {
    const tasks: (() => void)[] = [];
    await bus.emit(event, { afterCommit: (task: () => void) => void tasks.push(task) } as unknown as Tx);
    const within = done.splice(0);
    for (const task of tasks) task();
    return [within, done.splice(0)];
  }

  const END = ['publish', 'recording', { type: 'end' }];

  it.each<[string, object, unknown[]]>([
    ['was transcribed', new RecordingTranscribed(RECORDING, {} as Transcript), [['store']]],
    ['has failed', new RecordingFailed(RECORDING, 'no audio'), []],
    ['was deleted', new RecordingDeleted(RECORDING), []],
  ])('announces that a recording %s after the commit, when readers find it ended', async (_, event, within) => {
    expect(await emitted(event)).toEqual([within, [END]]);
  });

  it.each<[string, object]>([
    ['run-2', new RecordingAccepted(RECORDING)],
    ['rerun-2', new RerunRequested(RECORDING)],
  ])('wakes a worker by the job %s after the commit', async (deduplicationKey, event) => {
    expect(await emitted(event)).toEqual([[], [['enqueue', { recordingId: 'recording' }, { deduplicationKey }]]]);
  });
});
