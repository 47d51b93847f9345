import type { AudioType } from './audio-type';
import type { ChunkWriter } from './chunk-writer';
import { LevelMonitor } from './level-monitor';
import { StopWatch } from './stop-watch';

/** Each part is in the database about so long after it was said: more than that is never lost. */
const PART_MS = 250;

/** One recording, from the open microphone to its last byte in the database. */
export class CaptureSession {
  readonly level: LevelMonitor;
  readonly watch = new StopWatch();
  readonly startedAt = new Date();
  private readonly recorder: MediaRecorder;
  private readonly ended: Promise<void>;
  private wakeLock: WakeLockSentinel | null = null;

  /** @param onLost the device was taken away, or the browser's recorder failed */
  constructor(
    private readonly stream: MediaStream,
    readonly type: AudioType,
    readonly writer: ChunkWriter,
    onLost: () => void,
  ) {
    this.level = new LevelMonitor(stream);
    this.recorder = new MediaRecorder(stream, { mimeType: type.mimeType, audioBitsPerSecond: type.bitsPerSecond });
    this.recorder.addEventListener('dataavailable', ({ data }) => {
      if (data.size > 0) writer.append(data, this.watch.seconds);
    });
    this.ended = new Promise((resolve) => this.recorder.addEventListener('stop', () => resolve(), { once: true }));
    for (const track of stream.getAudioTracks()) track.addEventListener('ended', onLost);
    this.recorder.addEventListener('error', onLost);
  }

  start(): void {
    this.recorder.start(PART_MS);
    this.watch.start();
    void this.stayAwake();
  }

  /** What was said so far is in the database when this resolves. */
  async pause(): Promise<void> {
    this.recorder.pause();
    this.watch.stop();
    this.level.paused = true;
    const flushed = new Promise((resolve) => this.recorder.addEventListener('dataavailable', resolve, { once: true }));
    this.recorder.requestData();
    await flushed;
    await this.writer.settled();
  }

  resume(): void {
    this.recorder.resume();
    this.watch.start();
    this.level.paused = false;
  }

  /** @returns whether all of it is in the database */
  async stop(): Promise<boolean> {
    this.watch.stop();
    if (this.recorder.state !== 'inactive') this.recorder.stop();
    await this.ended;
    for (const track of this.stream.getTracks()) track.stop();
    this.level.end();
    void this.wakeLock?.release().catch(() => {});
    return await this.writer.finish();
  }

  /** A phone that turns its screen off would end the recording. */
  private async stayAwake(): Promise<void> {
    this.wakeLock = (await navigator.wakeLock?.request('screen').catch(() => null)) ?? null;
  }
}
