import { randomUUID } from 'node:crypto';
import { type ApiError, InvalidRequestError, MalformedRequestError } from '../../../platform/errors/errors.js';
import type { LiveRecording } from '../live-recordings.service.js';
import { OpenAiSettings } from './openai-settings.js';
import type { RealtimeProtocol, RecordingSettings, SessionControls, StoredAudio } from './realtime-client.js';
import type { FinalItem } from './transcript-reader.js';

/** Of one `input_audio_buffer.append`, decoded. */
const MAX_APPEND_BYTES = 1024 * 1024;
const MAX_EVENT_ID = 512;
const BYTES_PER_SAMPLE = 2;
/** Of a commit that ends an utterance, as OpenAI has it. */
const LEAST_MS = 100;

type Fields = Record<string, unknown>;

/** OpenAI's realtime protocol for transcription sessions, as clients of today and of its beta speak it (D90). */
export class OpenAiProtocol implements RealtimeProtocol {
  readonly name = 'openai';
  private readonly sessionId = `sess_${randomUUID().replaceAll('-', '')}`;
  private readonly configuration: OpenAiSettings;
  private recording: LiveRecording | null = null;
  private hasAudio = false;
  /** Audio that came since the last commit. */
  private uncommittedBytes = 0;
  private commitsAtBegin = false;
  /** Commits whose text is to come, where nothing else ends an utterance. */
  private pendingCommits = 0;
  private wordsFollow = true;
  private wordsProblem: string | null = null;
  private lastItemId: string | null = null;
  /** The number of the item that a client would commit now. */
  private nextItem = 0;
  private readonly committed = new Set<number>();
  private eventId: string | null = null;

  private readonly handlers: Record<string, (event: Fields) => void> = {
    'session.update': ({ session }) => this.update(session, false),
    'transcription_session.update': ({ session }) => this.update(session, true),
    'input_audio_buffer.append': ({ audio }) => this.append(audio),
    'input_audio_buffer.commit': () => this.commit(),
    'input_audio_buffer.clear': () => this.send('input_audio_buffer.cleared', {}),
    'recording.finish': () => this.controls.finish(),
  };

  /** @param isBeta the client asked for the beta of the protocol. */
  constructor(
    private readonly controls: SessionControls,
    settings: RecordingSettings,
    private readonly isBeta: boolean,
  ) {
    this.configuration = new OpenAiSettings(settings);
  }

  opened(recording: LiveRecording | null): void {
    if (recording) this.configuration.detectsTurns = recording.cutsAtPauses;
    if (this.isBeta) this.send('transcription_session.created', { session: this.betaSession });
    else this.send('session.created', { session: this.session });
    if (recording === null) return;
    this.recording = recording;
    this.hasAudio = true;
    this.send('recording.resumed', { recording_id: recording.recordingId, stored_bytes: recording.storedBytes });
  }

  receive(message: Buffer, isBinary: boolean): void {
    this.eventId = null;
    try {
      const event = readEvent(message, isBinary);
      this.eventId = eventIdOf(event);
      const { type } = event;
      const handler = Object.hasOwn(this.handlers, type) ? this.handlers[type] : undefined;
      if (!handler) throw unknownType(type, Object.keys(this.handlers));
      handler(event);
    } catch (error) {
      if (!(error instanceof InvalidRequestError || error instanceof MalformedRequestError)) throw error;
      this.refuse(error);
    }
  }

  settings(): RecordingSettings {
    return this.configuration.recording;
  }

  began(recording: LiveRecording): void {
    this.recording = recording;
    this.send('recording.started', { recording_id: recording.recordingId });
    if (this.commitsAtBegin) this.commitItem(this.nextItem);
  }

  stored({ bytes, seconds }: StoredAudio): void {
    this.send('recording.audio_stored', { recording_id: this.recording?.recordingId, bytes, seconds });
  }

  speechStarted(item: number, at: number): void {
    this.nextItem = item;
    if (!this.configuration.detectsTurns) return;
    this.send('input_audio_buffer.speech_started', { audio_start_ms: milliseconds(at), item_id: this.itemId(item) });
  }

  speechStopped(item: number, at: number): void {
    if (this.configuration.detectsTurns) {
      this.send('input_audio_buffer.speech_stopped', { audio_end_ms: milliseconds(at), item_id: this.itemId(item) });
    }
    this.commitItem(item);
  }

  delta(item: number, text: string): void {
    this.send('conversation.item.input_audio_transcription.delta', {
      item_id: this.itemId(item),
      content_index: 0,
      delta: text,
    });
  }

  final({ item, text, start, end }: FinalItem): void {
    this.commitItem(item);
    this.committed.delete(item);
    this.nextItem = Math.max(this.nextItem, item + 1);
    this.pendingCommits = Math.max(0, this.pendingCommits - 1);
    this.send('conversation.item.input_audio_transcription.completed', {
      item_id: this.itemId(item),
      content_index: 0,
      transcript: text,
      usage: { type: 'duration', seconds: Math.ceil(end - start) },
    });
  }

  problem(message: string): void {
    this.wordsProblem = message;
    this.sendError({ type: 'server_error', code: 'transcription_unavailable', message, param: null });
  }

  wordsEnded(): void {
    this.wordsFollow = false;
    for (; this.pendingCommits > 0; this.pendingCommits--) this.failItem();
  }

  ended(recording: LiveRecording | null, reason: string): void {
    this.send('recording.ended', { recording_id: recording?.recordingId ?? null, reason });
  }

  failed(error: ApiError): void {
    this.eventId = null;
    const type = error.status >= 500 ? 'server_error' : error.status === 429 ? 'rate_limit_error' : INVALID;
    const code = error.type === 'QuotaExceededError' ? 'insufficient_quota' : error.type;
    this.sendError({ type, code, message: error.message, param: paramOf(error) });
  }

  private get session(): object {
    return this.configuration.session(this.sessionId);
  }

  private get betaSession(): object {
    return this.configuration.sessionBeta(this.sessionId);
  }

  private update(session: unknown, isBeta: boolean): void {
    const { detectsTurns } = this.configuration;
    this.configure(session, isBeta);
    const atPauses = this.configuration.detectsTurns;
    if (!this.hasAudio || atPauses === detectsTurns) return;
    this.uncommittedBytes = 0;
    this.controls.cut({ isCommit: false, atPauses });
  }

  private configure(session: unknown, isBeta: boolean): void {
    if (isBeta) {
      this.configuration.updateBeta(session, this.hasAudio);
      this.send('transcription_session.updated', { session: this.betaSession });
    } else {
      this.configuration.update(session, this.hasAudio);
      this.send('session.updated', { session: this.session });
    }
  }

  private append(audio: unknown): void {
    const bytes = readAudio(audio);
    this.hasAudio = true;
    this.uncommittedBytes += bytes.length;
    this.controls.addAudio(bytes);
  }

  /** Where pauses end utterances, words come whether or not a client commits. */
  private commit(): void {
    const { detectsTurns } = this.configuration;
    if (this.uncommittedBytes < (detectsTurns ? 1 : this.leastBytes)) {
      const least = detectsTurns ? 'audio' : `${LEAST_MS} ms of audio`;
      const message = `input_audio_buffer.commit needs ${least}: append some first.`;
      this.refuse(new MalformedRequestError(message), 'input_audio_buffer_commit_empty');
      return;
    }
    this.uncommittedBytes = 0;
    if (!detectsTurns) {
      this.controls.cut({ isCommit: true, atPauses: false });
      if (this.wordsFollow) this.pendingCommits++;
      else this.failItem();
      return;
    }
    // Items are named by the recording.
    if (this.recording) this.commitItem(this.nextItem);
    else this.commitsAtBegin = true;
  }

  /** An item whose text will not come. */
  private failItem(): void {
    const item = this.nextItem++;
    this.commitItem(item);
    const message = this.wordsProblem ?? 'No words follow.';
    this.send('conversation.item.input_audio_transcription.failed', {
      item_id: this.itemId(item),
      content_index: 0,
      error: { type: 'server_error', code: 'transcription_unavailable', message, param: null },
    });
  }

  private get leastBytes(): number {
    return ((this.configuration.recording.audio.sampleRate ?? 0) * BYTES_PER_SAMPLE * LEAST_MS) / 1000;
  }

  private commitItem(item: number): void {
    if (this.committed.has(item)) return;
    this.committed.add(item);
    const id = this.itemId(item);
    const previous = { previous_item_id: this.lastItemId };
    this.lastItemId = id;
    this.send('input_audio_buffer.committed', { item_id: id, ...previous });
    const message = {
      id,
      object: 'realtime.item',
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_audio', transcript: null }],
    };
    if (this.isBeta) {
      this.send('conversation.item.created', { ...previous, item: message });
      return;
    }
    this.send('conversation.item.added', { ...previous, item: message });
    this.send('conversation.item.done', { ...previous, item: message });
  }

  /** The same on every connection to the recording. */
  private itemId(item: number): string {
    return `item_${this.recording?.recordingId.replaceAll('-', '')}_${item}`;
  }

  private refuse(error: ApiError, code = 'invalid_value'): void {
    this.sendError({ type: INVALID, code, message: error.message, param: paramOf(error) });
    this.controls.countRefusal();
  }

  /** Names the message of the client that it answers. */
  private sendError(error: { type: string; code: string; message: string; param: string | null }): void {
    this.send('error', { error: { ...error, event_id: this.eventId } });
  }

  private send(type: string, fields: object): void {
    this.controls.send({ type, event_id: `event_${randomUUID().replaceAll('-', '')}`, ...fields });
  }
}

const INVALID = 'invalid_request_error';

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

const paramOf = (error: ApiError): string | null =>
  error instanceof InvalidRequestError ? (error.broken[0]?.field ?? null) : null;

function readEvent(message: Buffer, isBinary: boolean): Fields & { type: string } {
  if (isBinary)
    throw new MalformedRequestError('A message must be JSON text; audio goes into input_audio_buffer.append.');
  let event: unknown;
  try {
    event = JSON.parse(message.toString());
  } catch {
    throw new MalformedRequestError('The message is not valid JSON.');
  }
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    throw new MalformedRequestError('A message must be a JSON object with a type.');
  }
  const { type } = event as Fields;
  if (typeof type === 'string') return event as Fields & { type: string };
  throw new InvalidRequestError({ field: 'type', reason: type === undefined ? 'is required' : 'must be text' });
}

function eventIdOf({ event_id: id }: Fields): string | null {
  if (id === undefined || id === null) return null;
  if (typeof id === 'string' && id.length <= MAX_EVENT_ID) return id;
  throw new InvalidRequestError({ field: 'event_id', reason: `must be text of at most ${MAX_EVENT_ID} characters` });
}

/** Of what a client sends, no more than a name is repeated. */
function unknownType(type: string, known: readonly string[]): InvalidRequestError {
  const name = /^[a-z_.]{1,80}$/.test(type) ? `"${type}" is not a type of a transcription session.` : 'Unknown.';
  return new InvalidRequestError({ field: 'type', reason: `${name} Use one of ${known.join(', ')}` });
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function readAudio(audio: unknown): Buffer {
  const invalid = (reason: string): InvalidRequestError => new InvalidRequestError({ field: 'audio', reason });
  if (typeof audio !== 'string') throw invalid(audio === undefined ? 'is required' : 'must be text in base64');
  if (audio === '') throw invalid('must not be empty');
  if (audio.length % 4 !== 0 || !BASE64.test(audio)) throw invalid('must be text in base64, with its padding');
  const bytes = Buffer.from(audio, 'base64');
  if (bytes.length > MAX_APPEND_BYTES)
    throw invalid(`must be at most ${MAX_APPEND_BYTES} bytes; this has ${bytes.length}`);
  if (bytes.length % BYTES_PER_SAMPLE !== 0) {
    throw invalid(`must be whole samples of ${BYTES_PER_SAMPLE} bytes; this has ${bytes.length} bytes`);
  }
  return bytes;
}
