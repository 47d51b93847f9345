import { errorBody } from '../../../platform/errors/error-body.js';
import { type ApiError, InvalidRequestError, MalformedRequestError } from '../../../platform/errors/errors.js';
import type { LiveRecording } from '../live-recordings.service.js';
import type { RealtimeProtocol, RecordingSettings, SessionControls, StoredAudio } from './realtime-client.js';
import type { FinalItem } from './transcript-reader.js';

/** The protocol for clients without OpenAI's: audio as binary messages, everything else as small JSON texts (D90). */
export class PlainProtocol implements RealtimeProtocol {
  readonly name = 'plain';

  constructor(
    private readonly controls: SessionControls,
    private readonly wanted: RecordingSettings,
  ) {}

  opened(recording: LiveRecording | null, isResumed: boolean): void {
    if (!recording) return;
    if (isResumed) this.send('resumed', { recording_id: recording.recordingId, stored_bytes: recording.storedBytes });
    else this.began(recording);
  }

  receive(message: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.controls.addAudio(message);
      return;
    }
    const problem = commandProblem(message);
    if (problem === null) {
      this.controls.finish();
      return;
    }
    this.failed(problem);
    this.controls.countRefusal();
  }

  settings(): RecordingSettings {
    return this.wanted;
  }

  began({ recordingId }: LiveRecording): void {
    this.send('started', { recording_id: recordingId });
  }

  stored({ bytes, seconds }: StoredAudio): void {
    this.send('stored', { bytes, seconds });
  }

  /** Clients know it by the end. */
  wordsEnded(): void {}

  speechStarted(item: number, at: number): void {
    this.send('speech_started', { item, at });
  }

  speechStopped(item: number, at: number): void {
    this.send('speech_stopped', { item, at });
  }

  delta(item: number, text: string): void {
    this.send('partial', { item, text });
  }

  final({ item, text, start, end }: FinalItem): void {
    this.send('final', { item, text, start, end });
  }

  problem(message: string): void {
    this.send('problem', { message });
  }

  ended(recording: LiveRecording | null, reason: string): void {
    this.send('ended', { reason, recording_id: recording?.recordingId ?? null });
  }

  failed(error: ApiError): void {
    this.send('error', errorBody(error));
  }

  private send(type: string, fields: object): void {
    this.controls.send({ type, ...fields });
  }
}

/** Null for the one command that there is. */
function commandProblem(message: Buffer): ApiError | null {
  let command: unknown;
  try {
    command = JSON.parse(message.toString());
  } catch {
    return new MalformedRequestError('The message is not valid JSON. Audio goes into binary messages.');
  }
  const type = (command as { type?: unknown } | null)?.type;
  return type === 'finish' ? null : new InvalidRequestError({ field: 'type', reason: 'must be finish' });
}
