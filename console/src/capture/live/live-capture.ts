import { signal } from '@preact/signals';

import { openRealtime } from '../../session/realtime';
import type { Description } from '../../uploads/new-note-details';
import type { AudioType } from '../audio-type';
import { parametersOf } from './live-parameters';
import { LiveStream } from './live-stream';
import { LiveWords } from './live-words';

/**
 * - `connecting`: no word of the service yet
 * - `on`: the service has the recording, and words may come
 * - `off`: the recording is only in this browser from now on
 */
type LiveState = 'connecting' | 'on' | 'off';

/** A recording that the service gets while it is made. What fails here leaves the copy of the browser alone. */
export class LiveCapture {
  readonly words = new LiveWords();
  readonly state = signal<LiveState>('connecting');
  /** What the service knows of it. */
  readonly begun: Description;
  private readonly stream: LiveStream;

  /** @param onBegin told once there is a recording in the service */
  constructor({ extension }: AudioType, description: Description, onBegin: (recordingId: string) => void) {
    this.begun = description;
    this.stream = new LiveStream({
      connect: (recordingId) => openRealtime(parametersOf(extension, description, recordingId)),
      onMessage: (message) => {
        if (message.type === 'started') onBegin(message.recording_id);
        if (message.type === 'started' || message.type === 'resumed') this.state.value = 'on';
        this.words.heed(message);
      },
      onFail: (reason) => {
        this.state.value = 'off';
        this.words.problem.value = reason;
      },
    });
  }

  append(bytes: ArrayBuffer): void {
    this.stream.append(bytes);
  }

  /** @returns the recording, if the service has every byte of it */
  async finish(): Promise<string | null> {
    return (await this.stream.finish()) ? this.stream.recordingId : null;
  }

  /** @returns the recording that was begun, if any */
  abandon(): string | null {
    this.stream.abandon();
    return this.stream.recordingId;
  }
}
