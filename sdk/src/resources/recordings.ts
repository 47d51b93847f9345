import type {
  AudioDownloadCreateUrlResponse,
  CorrectTranscriptionDto,
  RecordingsGetResponse,
  RecordingsListData,
  RecordingsListResponse,
  RecordingsRetryResponse,
  RecordingsUploadResponse,
  TranscribeAgainDto,
  TranscribeAgainRequestResponse,
  TranscriptionView,
  VersionsListData,
  VersionsListResponse,
  WaveformView,
} from '../api/types.gen.js';
import type { RequestOptions, Transport } from '../http/transport.js';
import { Paged } from '../pages/paged.js';
import type { AudioSource } from '../upload/audio-file.js';
import { upload } from '../upload/upload.js';
import type { UploadOptions } from '../upload/upload-options.js';

export type Recording = RecordingsListResponse['recordings'][number];
export type TranscriptionVersion = VersionsListResponse['transcriptions'][number];

/** A transcription with the tag of what was read, for a correction that overwrites nobody else's. */
export type Transcription = TranscriptionView & {
  etag: string | null;
  /** Whether a person has corrected the text. */
  version: 'original' | 'corrected';
};

export interface TranscriptionOptions extends RequestOptions {
  /** `original` is what the engine heard, also if the text was corrected. */
  version?: 'current' | 'original';
}

export class RecordingsResource {
  constructor(private readonly transport: Transport) {}

  upload(source: AudioSource, options?: UploadOptions): Promise<RecordingsUploadResponse> {
    return upload(this.transport, source, options);
  }

  list(query: RecordingsListData['query'] = {}, options?: RequestOptions): Paged<RecordingsListResponse, Recording> {
    return new Paged(
      (page = query?.page) =>
        this.transport.json({ method: 'GET', path: '/recordings', query: { ...query, page }, ...options }),
      (page) => page.recordings,
    );
  }

  get(id: string, options?: RequestOptions): Promise<RecordingsGetResponse> {
    return this.transport.json({ method: 'GET', path: pathOf(id), ...options });
  }

  async delete(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ method: 'DELETE', path: pathOf(id), ...options });
  }

  /** Transcribes a failed recording once more. */
  retry(id: string, options?: RequestOptions): Promise<RecordingsRetryResponse> {
    return this.transport.json({ method: 'POST', path: `${pathOf(id)}/retry`, ...options });
  }

  /** Transcribes again, also with another engine, language or vocabulary. The present text stays until then. */
  transcribeAgain(
    id: string,
    fields: TranscribeAgainDto = {},
    options?: RequestOptions,
  ): Promise<TranscribeAgainRequestResponse> {
    return this.transport.json({ method: 'POST', path: `${pathOf(id)}/transcribe`, body: fields, ...options });
  }

  async transcription(id: string, { version, ...options }: TranscriptionOptions = {}): Promise<Transcription> {
    const response = await this.transport.raw({
      method: 'GET',
      path: `${pathOf(id)}/transcription`,
      query: { version },
      ...options,
    });
    return await withTag(response);
  }

  /** The transcription as plain text or subtitles. */
  export(
    id: string,
    format: 'text' | 'srt' | 'vtt',
    { version, ...options }: TranscriptionOptions = {},
  ): Promise<string> {
    return this.transport.text({
      method: 'GET',
      path: `${pathOf(id)}/transcription`,
      query: { format, version },
      ...options,
    });
  }

  /** @param etag of what was read: a later correction of somebody else is not overwritten (PreconditionFailedError) */
  async correct(
    id: string,
    correction: CorrectTranscriptionDto,
    { etag, ...options }: RequestOptions & { etag?: string | null } = {},
  ): Promise<Transcription> {
    const headers = etag ? { 'If-Match': etag } : undefined;
    const path = `${pathOf(id)}/transcription`;
    return await withTag(await this.transport.raw({ method: 'PUT', path, body: correction, headers, ...options }));
  }

  /** Goes back to what the engine heard. */
  async removeCorrection(id: string, options?: RequestOptions): Promise<void> {
    await this.transport.json({ method: 'DELETE', path: `${pathOf(id)}/transcription`, ...options });
  }

  versions(
    id: string,
    query: VersionsListData['query'] = {},
    options?: RequestOptions,
  ): Paged<VersionsListResponse, TranscriptionVersion> {
    const path = `${pathOf(id)}/transcriptions`;
    return new Paged(
      (page = query?.page) => this.transport.json({ method: 'GET', path, query: { ...query, page }, ...options }),
      (page) => page.transcriptions,
    );
  }

  /** The audio as it was uploaded; its body is a stream. */
  audio(id: string, options?: RequestOptions): Promise<Response> {
    return this.transport.raw({ method: 'GET', path: `${pathOf(id)}/audio`, ...options });
  }

  /** A URL that needs no credentials for five minutes, for an `<audio>` element. */
  async audioUrl(id: string, options?: RequestOptions): Promise<{ url: string; expires_at: string }> {
    const path = `${pathOf(id)}/audio-url`;
    const answer = await this.transport.json<AudioDownloadCreateUrlResponse>({ method: 'POST', path, ...options });
    return { ...answer, url: new URL(answer.url, `${this.transport.origin}/`).href };
  }

  /** How loud it is over time: up to 1,000 peaks from 0 to 255. NotFoundError where there is none (yet). */
  waveform(id: string, options?: RequestOptions): Promise<WaveformView> {
    return this.transport.json({ method: 'GET', path: `${pathOf(id)}/waveform`, ...options });
  }
}

async function withTag(response: Response): Promise<Transcription> {
  const { headers } = response;
  const version = headers.get('transcription-version') === 'corrected' ? 'corrected' : 'original';
  return { ...((await response.json()) as TranscriptionView), etag: headers.get('etag'), version };
}

function pathOf(id: string): string {
  return `/recordings/${encodeURIComponent(id)}`;
}
