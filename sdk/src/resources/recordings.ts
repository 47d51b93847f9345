import type { AudioUrlView, SharesListData, VersionsListData } from '../api/types.gen.js';
import { RecordingWaiter, type WaitOptions } from '../events/recording-waiter.js';
import type { RequestOptions } from '../http/client-options.js';
import { isApiError } from '../http/errors.js';
import type { Transport } from '../http/transport.js';
import { type Paged, pagesOf } from '../pages/paged.js';
import type {
  Callback,
  Correction,
  CreatedShare,
  Hold,
  Recording,
  RecordingDetails,
  RecordingFilter,
  RecordingPage,
  Share,
  ShareFields,
  SharePage,
  SharedRecording,
  SpeakerNames,
  Speakers,
  TitledRecording,
  TranscribeAgainFields,
  Transcription,
  TranscriptionVersion,
  TranscriptionVersionPage,
  Waveform,
} from '../types.js';
import type { AudioSource } from '../upload/audio-file.js';
import { upload, uploadLink } from '../upload/upload.js';
import type { AudioLink, UploadOptions } from '../upload/upload-options.js';

/** Which text of a recording. */
export interface TranscriptionOptions extends RequestOptions {
  /** `original` is the engine's text, also if the text was corrected. */
  version?: 'current' | 'original';
}

/** What else comes with a recording. Null where it has none (yet). */
export interface RecordingOptions extends RequestOptions {
  include?:
    | readonly ('transcription' | 'waveform' | 'waiting_for' | 'title' | 'snippet' | 'partial' | 'retention')[]
    | undefined;
}

/** What a person may change of a recording. What is left out stays. */
export interface RecordingChanges {
  /** At most 200 characters; null: as its file. */
  title?: string | null | undefined;
  /** In place of those that it has; null removes them. */
  tags?: Record<string, string> | null | undefined;
}

/** Voice notes, their audio and their transcriptions. */
export class RecordingsResource {
  private readonly waiter: RecordingWaiter;

  constructor(private readonly transport: Transport) {
    this.waiter = new RecordingWaiter(transport, (id, options) => this.get(id, options));
  }

  /**
   * Uploads a voice note. It is repeated after a fault, and never becomes a second recording. The recording is
   * `processing` then: `uploadAndWait`, `wait`, the event stream or a webhook tell when it is transcribed.
   * @param source audio, or `{ url }` of audio that the service is to fetch
   */
  upload(source: AudioSource | AudioLink, options?: UploadOptions): Promise<Recording> {
    if (isLink(source)) return uploadLink(this.transport, source, options);
    return upload(this.transport, source, options);
  }

  /**
   * Uploads a voice note and waits until it is `transcribed` or `failed`.
   * @param options `waitTimeout`: milliseconds for the wait after the upload, until a TimeoutError; no limit by default
   */
  async uploadAndWait(
    source: AudioSource | AudioLink,
    { waitTimeout, ...options }: UploadOptions & { waitTimeout?: number | undefined } = {},
  ): Promise<Recording> {
    const { id } = await this.upload(source, options);
    return await this.wait(id, { signal: options.signal, timeout: waitTimeout });
  }

  /**
   * Resolves as soon as a recording is `transcribed` or `failed`; `status` tells which. Any number of waits share one event
   * stream. Where the stream is refused, the recording is asked for from time to time.
   * @throws TimeoutError; ApiError of the type NotFoundError when the recording is deleted
   */
  wait(id: string, options?: WaitOptions): Promise<Recording> {
    return this.waiter.wait(id, options);
  }

  /** Recordings, the newest first; with `q` those with the words in their text, title or tags. */
  list(query: RecordingFilter = {}, options?: RequestOptions): Paged<RecordingPage, Recording> {
    return pagesOf(
      () => this.transport.json<RecordingPage>({ ...options, method: 'GET', path: '/recordings', query }),
      (uri) => this.transport.follow<RecordingPage>(uri, options),
      (page) => page.recordings,
    );
  }

  /** One recording, as it is now; with `include` also its transcription and other parts, in one request. */
  get(id: string, { include, ...options }: RecordingOptions = {}): Promise<RecordingDetails> {
    const query = { include: include?.join(',') || undefined };
    return this.transport.json({ ...options, method: 'GET', path: pathOf(id), query });
  }

  /** Changes the title or the tags. */
  update(id: string, { title, tags }: RecordingChanges, options?: RequestOptions): Promise<TitledRecording> {
    const body = { title, custom_tags: tags };
    return this.transport.json({ ...options, method: 'PATCH', path: pathOf(id), body });
  }

  /** Deletes a recording with its audio and its transcription, in any state and for good, unless it is on hold. */
  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ ...options, method: 'DELETE', path: pathOf(id) });
  }

  /** Keeps a recording: nothing of it is deleted until the hold is released. @param reason for those who ask for it */
  hold(id: string, reason: string, options?: RequestOptions): Promise<Hold> {
    return this.transport.json({ ...options, method: 'PUT', path: `${pathOf(id)}/hold`, body: { reason } });
  }

  /** What is due meanwhile is deleted soon after. */
  async releaseHold(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ ...options, method: 'DELETE', path: `${pathOf(id)}/hold` });
  }

  /** Transcribes a failed recording once more. */
  retry(id: string, options?: RequestOptions): Promise<Recording> {
    return this.transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/retry` });
  }

  /** Transcribes again, also with another engine, language or vocabulary. The present text stays until then. */
  transcribeAgain(id: string, fields: TranscribeAgainFields = {}, options?: RequestOptions): Promise<Recording> {
    return this.transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/transcribe`, body: fields });
  }

  /**
   * The text, and its words as JSON text: see `wordsOf`.
   * @throws ApiError with the code `TRANSCRIPTION_NOT_READY` or `TRANSCRIPTION_FAILED`, whose `details.reason` says why
   */
  async transcription(id: string, { version, ...options }: TranscriptionOptions = {}): Promise<Transcription> {
    const path = `${pathOf(id)}/transcription`;
    const request = { ...options, method: 'GET', path, query: { version } };
    return withVersion(await this.transport.jsonWithHeaders(request));
  }

  /** The transcription as plain text, as paragraphs, as subtitles, or who speaks when (RTTM). */
  export(
    id: string,
    format: 'text' | 'paragraphs' | 'srt' | 'vtt' | 'rttm',
    { version, ...options }: TranscriptionOptions = {},
  ): Promise<string> {
    const path = `${pathOf(id)}/transcription`;
    return this.transport.text({ ...options, method: 'GET', path, query: { format, version } });
  }

  /**
   * Replaces the engine's text, which is kept, by a person's text or words.
   * @param options `etag` of what was read: a later correction of somebody else is not overwritten (PreconditionFailedError)
   */
  async correct(
    id: string,
    correction: Correction,
    { etag, ...options }: RequestOptions & { etag?: string | null | undefined } = {},
  ): Promise<Transcription> {
    const path = `${pathOf(id)}/transcription`;
    const request = { ...options, method: 'PUT', path, body: correction, headers: ifMatch(etag) };
    try {
      return withVersion(await this.transport.jsonWithHeaders(request));
    } catch (error) {
      if (!isApiError(error, 'PreconditionFailedError')) throw error;
      // A repeated request meets its own correction when the answer to the first one was lost.
      const present = await this.transcription(id, options);
      if (present.version === 'corrected' && 'text' in correction && present.text === correction.text) return present;
      throw error;
    }
  }

  /** Who speaks, how much, and what they are called. None where speakers were not told apart. */
  async speakers(id: string, options?: RequestOptions): Promise<Speakers> {
    const path = `${pathOf(id)}/speakers`;
    return withTag(await this.transport.jsonWithHeaders({ ...options, method: 'GET', path })) as Speakers;
  }

  /**
   * Replaces all names of speakers. Those with the same name are shown as one person.
   * @param options `etag` of what was read: later names of somebody else are not overwritten (PreconditionFailedError)
   */
  async nameSpeakers(
    id: string,
    speakers: SpeakerNames,
    { etag, ...options }: RequestOptions & { etag?: string | null | undefined } = {},
  ): Promise<Speakers> {
    const path = `${pathOf(id)}/speakers`;
    const request = { ...options, method: 'PUT', path, body: { speakers }, headers: ifMatch(etag) };
    return withTag(await this.transport.jsonWithHeaders(request)) as Speakers;
  }

  /** What a link shows, also to whom has no key. @param token what follows `#` in the link */
  openShare(token: string, password?: string | null, options?: RequestOptions): Promise<SharedRecording> {
    return this.transport.json({ ...options, method: 'POST', path: '/shares/open', body: { token, password } });
  }

  /** The links that were made for it, the newest first. */
  shares(id: string, query: SharesListData['query'] = {}, options?: RequestOptions): Paged<SharePage, Share> {
    const path = `${pathOf(id)}/shares`;
    return pagesOf(
      () => this.transport.json<SharePage>({ ...options, method: 'GET', path, query }),
      (uri) => this.transport.follow<SharePage>(uri, options),
      (page) => page.shares,
    );
  }

  /** Makes a link with which anybody reads it. This answer alone holds its `url`. */
  share(id: string, fields: ShareFields = {}, options?: RequestOptions): Promise<CreatedShare> {
    return this.transport.json({ ...options, method: 'POST', path: `${pathOf(id)}/shares`, body: fields });
  }

  /** Nobody opens the link any more. */
  async endShare(id: string, shareId: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({
      ...options,
      method: 'DELETE',
      path: `${pathOf(id)}/shares/${encodeURIComponent(shareId)}`,
    });
  }

  /** Goes back to the engine's text. */
  async removeCorrection(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ ...options, method: 'DELETE', path: `${pathOf(id)}/transcription` });
  }

  /** The transcriptions of all runs, the newest first. */
  versions(
    id: string,
    query: VersionsListData['query'] = {},
    options?: RequestOptions,
  ): Paged<TranscriptionVersionPage, TranscriptionVersion> {
    const path = `${pathOf(id)}/transcriptions`;
    return pagesOf(
      () => this.transport.json<TranscriptionVersionPage>({ ...options, method: 'GET', path, query }),
      (uri) => this.transport.follow<TranscriptionVersionPage>(uri, options),
      (page) => page.transcriptions,
    );
  }

  /** The audio as it was uploaded; its body is a stream. The time-out ends with the headers. */
  audio(id: string, options?: RequestOptions): Promise<Response> {
    return this.transport.raw({ ...options, method: 'GET', path: `${pathOf(id)}/audio` });
  }

  /** The webhook that the upload named for this recording alone. NotFoundError if it named none. */
  callback(id: string, options?: RequestOptions): Promise<Callback> {
    return this.transport.json({ ...options, method: 'GET', path: `${pathOf(id)}/callback` });
  }

  /** A URL that needs no credentials for five minutes, for an `<audio>` element. */
  async audioUrl(id: string, options?: RequestOptions): Promise<{ url: string; expires_at: string }> {
    const request = { ...options, method: 'POST', path: `${pathOf(id)}/audio-url`, mayRepeat: true };
    const { url, expires_at } = await this.transport.json<AudioUrlView>(request);
    return { url: this.transport.urlOf(url.replace(/^\/v1/, '')), expires_at };
  }

  /** How loud it is over time: up to 1,000 peaks from 0 to 255. NotFoundError where there is none (yet). */
  waveform(id: string, options?: RequestOptions): Promise<Waveform> {
    return this.transport.json({ ...options, method: 'GET', path: `${pathOf(id)}/waveform` });
  }
}

const isLink = (source: AudioSource | AudioLink): source is AudioLink =>
  (source as AudioLink | null)?.url !== undefined;

interface TaggedAnswer {
  value: unknown;
  headers: Headers;
}

const withTag = ({ value, headers }: TaggedAnswer): object => ({ ...(value as object), etag: headers.get('etag') });

function withVersion(answer: TaggedAnswer): Transcription {
  const version = answer.headers.get('transcription-version') === 'corrected' ? 'corrected' : 'original';
  return { ...(withTag(answer) as Transcription), version };
}

function ifMatch(etag: string | null | undefined): Record<string, string> {
  return etag ? { 'If-Match': etag } : {};
}

function pathOf(id: string): string {
  return `/recordings/${encodeURIComponent(id)}`;
}
