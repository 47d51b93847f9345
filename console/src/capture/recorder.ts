import { computed, effect, signal } from '@preact/signals';

import { toast } from '../components/toast';
import { t, type Text } from '../language/texts';
import { titleMark } from '../layout/use-page-title';
import { client } from '../session/session';
import { captureLock, holdLock } from '../uploads/sending/locks';
import { LARGEST_FILE_BYTES } from '../uploads/sending/problems';
import type { Description } from '../uploads/new-note-details';
import { tellTabs } from '../uploads/sending/tabs';
import { newItem, type UploadItem } from '../uploads/store/upload-item';
import { putItem } from '../uploads/store/upload-store';
import { recordedHere, showItem, viewOf } from '../uploads/upload-list';
import { currentOwner, discardItem, enqueueRecording } from '../uploads/uploads';
import { LiveCapture } from './live/live-capture';
import { takesLiveWords } from './live/live-choice';
import { isAsBegun, keepLive, removeLive, sendInstead } from './live/live-outcome';
import { type AudioType, audioType } from './audio-type';
import { CaptureSession } from './capture-session';
import { ChunkWriter } from './chunk-writer';
import { DISCONNECTED, type MicrophoneProblem, microphoneProblemOf, openMicrophone } from './microphone';

type RecorderState = 'idle' | 'starting' | 'recording' | 'paused' | 'saving';

/** Ends the recording before it is larger than the service takes. */
const LARGEST_RECORDING_BYTES = LARGEST_FILE_BYTES - 65_536;
/** And before it is longer than the service transcribes, unless its operator changed MAX_AUDIO_SECONDS. */
const LONGEST_RECORDING_SECONDS = 7200 - 10;
const TICK_MS = 200;

/** The recorder of this tab. It goes on while other pages of the console are shown. */
class Recorder {
  readonly state = signal<RecorderState>('idle');
  readonly seconds = signal(0);
  readonly problem = signal<MicrophoneProblem | null>(null);
  readonly session = signal<CaptureSession | null>(null);
  /** Whether the browser's storage is full, so that the recording is only in memory. */
  readonly storageFull = computed(() => this.session.value?.writer.failing.value ?? false);
  /** Null where no words are wanted. */
  readonly live = signal<LiveCapture | null>(null);
  private end = () => {};

  async start(deviceId: string, description: (type: AudioType) => Description): Promise<void> {
    const type = audioType();
    if (this.state.value !== 'idle' || !type) return;
    this.state.value = 'starting';
    this.problem.value = null;
    try {
      const stream = await openMicrophone(deviceId);
      await this.begin(stream, type, description(type));
    } catch (error) {
      this.problem.value = microphoneProblemOf(error);
      this.reset();
    }
  }

  async pause(): Promise<void> {
    if (this.state.value !== 'recording') return;
    await this.session.value?.pause();
    if (this.state.value === 'recording') this.state.value = 'paused';
  }

  resume(): void {
    if (this.state.value !== 'paused') return;
    this.session.value?.resume();
    this.state.value = 'recording';
  }

  describe(description: Description): void {
    this.session.value?.writer.describe(description);
  }

  /**
   * Puts the recording into the queue of uploads, unless the service has it already.
   * @returns its id in the service, if that is known
   */
  async finish(): Promise<string | null> {
    const made = await this.stop();
    if (!made) return null;
    const { item, durable } = made;
    const live = this.live.value;
    const recordingId = item.size > 0 ? ((await live?.finish()) ?? null) : null;
    if (item.size === 0) await this.dropEmpty(item);
    else if (!live || recordingId === null) await enqueueRecording(item, durable);
    else if (isAsBegun(item, live.begun)) await keepLive(item, live.begun, recordingId);
    else await sendInstead(item, durable, recordingId);
    this.reset();
    return viewOf(item.id)?.recordingId ?? null;
  }

  async discard(): Promise<void> {
    const made = await this.stop();
    if (!made) return;
    const recordingId = this.live.value?.abandon();
    await discardItem(made.item.id);
    this.reset();
    if (recordingId) await removeLive(recordingId);
  }

  /** Ends the recording and leaves it to the person to send it. */
  private async leave(problem: MicrophoneProblem | null): Promise<void> {
    // Before it connects again without credentials.
    this.live.value?.abandon();
    const made = await this.stop();
    if (!made) return;
    this.problem.value = problem;
    this.reset();
    if (client.value) showItem(made.item, { phase: 'interrupted', durable: made.durable });
  }

  private async begin(stream: MediaStream, type: AudioType, description: Description): Promise<void> {
    const fields = {
      owner: currentOwner(),
      kind: 'recording',
      type: type.mimeType,
      size: 0,
      state: 'capturing',
    } as const;
    const live = takesLiveWords.peek()
      ? new LiveCapture(type, description, (liveId) => writer.describe({ liveId }))
      : null;
    const writer = new ChunkWriter(newItem({ ...fields, ...description }), (bytes) => live?.append(bytes));
    const session = new CaptureSession(stream, type, writer, () => void this.leave(DISCONNECTED));
    const release = holdLock(captureLock(writer.item.id));
    const timer = setInterval(() => this.tick(session), TICK_MS);
    const endEffect = effect(() => {
      if (!client.value) void this.leave(null);
    });
    addEventListener('beforeunload', warnOfLoss);
    this.end = () => {
      endEffect();
      clearInterval(timer);
      removeEventListener('beforeunload', warnOfLoss);
      release();
    };
    session.start();
    this.session.value = session;
    this.live.value = live;
    this.state.value = 'recording';
    recordedHere.value = writer.item.id;
    showItem(writer.item, { phase: 'recording' });
    // Other tabs read it from the database, where the first part of the sound would put it otherwise.
    void putItem(writer.item).then(
      () => tellTabs({ kind: 'changed' }),
      () => {},
    );
    void navigator.storage?.persist?.().catch(() => false);
  }

  private async dropEmpty(item: UploadItem): Promise<void> {
    this.live.value?.abandon();
    await discardItem(item.id);
    toast(t('Nothing was recorded: the microphone sent no sound.'), { tone: 'bad' });
  }

  /** @returns null when nothing is recorded, or it is being stopped already */
  private async stop(): Promise<{ item: UploadItem; durable: boolean } | null> {
    const session = this.session.value;
    if (!session || this.state.value === 'saving') return null;
    this.state.value = 'saving';
    const durable = await session.stop();
    return { item: session.writer.item, durable };
  }

  private reset(): void {
    this.end();
    this.end = () => {};
    this.session.value = null;
    this.live.value = null;
    recordedHere.value = null;
    this.seconds.value = 0;
    this.state.value = 'idle';
  }

  private tick(session: CaptureSession): void {
    this.seconds.value = session.watch.seconds;
    const limit = limitReached(session);
    if (limit === null || this.state.value === 'saving') return;
    toast(t(limit), { duration: 60_000 });
    void this.finish();
  }
}

function limitReached({ writer, watch }: CaptureSession): Text | null {
  if (writer.item.size >= LARGEST_RECORDING_BYTES)
    return 'The recording has reached the limit of 25 MB. It is being sent.';
  if (watch.seconds < LONGEST_RECORDING_SECONDS) return null;
  return 'The recording has reached the limit of two hours. It is being sent.';
}

export const recorder = new Recorder();

const TITLE_MARKS: Record<RecorderState, string> = {
  idle: '',
  starting: '',
  recording: '● ',
  paused: '❚❚ ',
  saving: '',
};

effect(() => {
  titleMark.value = TITLE_MARKS[recorder.state.value];
});

/** The browser asks whether to leave. The recording would be kept, but it would end. */
function warnOfLoss(event: BeforeUnloadEvent): void {
  event.preventDefault();
}
