import type { Tx } from '../../../platform/database/database.service.js';
import { EventBus } from '../../../platform/database/event-bus.js';
import {
  RecordingAccepted,
  RecordingDeleted,
  RecordingFailed,
  type RecordingSnapshot,
  RecordingTranscribed,
  type Transcript,
  TranscriptionCorrected,
} from '../../recordings/recordings.events.js';
import { WebhookEventsListener } from './webhook-events.listener.js';
import type { NewWebhookEvent, WebhookEventsService } from './webhook-events.service.js';

const CREATED = new Date('2026-11-21T10:00:00.900Z');
const PROCESSED = new Date('2026-11-21T10:01:00Z');
const CORRECTED = new Date('2026-11-21T10:02:00Z');
const NOW = new Date('2026-11-21T10:03:00Z');
const RECORDING: RecordingSnapshot = {
  id: 'recording',
  accountId: 'account',
  userId: 'user-42',
  originalFilename: 'note.wav',
  audioFormat: 'wav',
  durationMs: 1234,
  customTags: '{"a":"1"}',
  status: 'transcribed',
  run: 2,
  createdAt: CREATED,
  processedAt: PROCESSED,
};
const TRANSCRIPT = {} as Transcript;

describe('WebhookEventsListener', () => {
  let published: NewWebhookEvent[];
  let recorded: NewWebhookEvent[];
  let bus: EventBus;
  const tx = {} as Tx;

  beforeEach(() => {
    jest.useFakeTimers({ now: NOW });
    [published, recorded] = [[], []];
    bus = new EventBus();
    const events: Partial<WebhookEventsService> = {
      publish: async (_, event) => void published.push(event),
      record: async (_, event) => void recorded.push(event),
      removeText: async () => undefined,
    };
    new WebhookEventsListener(bus, events as WebhookEventsService).onModuleInit();
  });
  afterEach(() => jest.useRealTimers());

  const ABOUT = { accountId: 'account', recordingId: 'recording', run: 2 };
  const bodyOf = (event: NewWebhookEvent | undefined) => JSON.parse(event?.body ?? 'null');

  it.each([null, 'requested', 'background'] as const)(
    'publishes a transcript at the time of its end; rerun: %s',
    async (rerun) => {
      await bus.emit(new RecordingTranscribed(RECORDING, TRANSCRIPT, rerun), tx);
      expect(published).toMatchObject([{ ...ABOUT, kind: 'recording.transcribed' }]);
      expect(bodyOf(published[0])).toMatchObject({
        timestamp: '2026-11-21T10:01:00Z',
        recording: {
          duration: 1.234,
          format: 'wav',
          identity: 'user-42',
          created_at: '2026-11-21T10:00:00Z',
          completed_at: '2026-11-21T10:01:00Z',
          custom_tags: { a: '1' },
        },
      });
    },
  );

  it('publishes no transcript that an operator wants unannounced', async () => {
    await bus.emit(new RecordingTranscribed(RECORDING, TRANSCRIPT, 'quiet'), tx);
    expect(published).toEqual([]);
  });

  it.each([
    [null, 1],
    ['requested', 1],
    ['quiet', 0],
    ['background', 0],
  ] as const)('publishes a failure unless an operator asked for the attempt; rerun: %s', async (rerun, count) => {
    await bus.emit(new RecordingFailed(RECORDING, 'no speech', rerun), tx);
    expect(published).toHaveLength(count);
    for (const event of published) {
      expect(event).toMatchObject({ ...ABOUT, kind: 'recording.failed' });
      expect(bodyOf(event)).toMatchObject({ timestamp: '2026-11-21T10:01:00Z', error: { message: 'no speech' } });
    }
  });

  it('publishes a correction at its own time', async () => {
    await bus.emit(new TranscriptionCorrected(RECORDING, 'corrected', 'a text', CORRECTED), tx);
    expect(published).toMatchObject([{ ...ABOUT, kind: 'transcription.corrected' }]);
    expect(bodyOf(published[0])).toMatchObject({
      timestamp: '2026-11-21T10:02:00Z',
      recording: { completed_at: '2026-11-21T10:01:00Z' },
      transcription: { version: 'corrected' },
    });
  });

  it('shows a deletion in the feed alone, at the time of now', async () => {
    await bus.emit(new RecordingDeleted(RECORDING), tx);
    expect(published).toEqual([]);
    expect(recorded).toMatchObject([{ ...ABOUT, kind: 'recording.deleted' }]);
    expect(bodyOf(recorded[0])).toMatchObject({ timestamp: '2026-11-21T10:03:00Z', recording: { status: 'deleted' } });
  });

  it.each([
    [1, 0],
    [2, 1],
    [3, 1],
  ])('shows run %i of a recording %i times: an upload inserts the first itself', async (run, count) => {
    await bus.emit(new RecordingAccepted({ ...RECORDING, run }), tx);
    expect(recorded).toHaveLength(count);
    for (const event of recorded) {
      expect(event).toMatchObject({ ...ABOUT, run, kind: 'recording.accepted' });
      expect(bodyOf(event)).toMatchObject({ timestamp: '2026-11-21T10:03:00Z', recording: { duration: 1.234 } });
    }
  });
});
