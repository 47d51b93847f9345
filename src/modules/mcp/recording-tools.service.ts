import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from '../../access/principal.js';
import { InvalidRequestError, PayloadTooLargeError } from '../../platform/errors/errors.js';
import { RequestValidationPipe } from '../../platform/http/input/request-validation.pipe.js';
import { checkDays } from '../../platform/http/page.js';
import { resourceTime } from '../../platform/http/timestamps.js';
import {
  checkOrder,
  isSearch,
  labelsOf,
  ListRecordingsQuery,
  RecordingsService,
  UpdateRecordingDto,
} from '../recordings/recordings.service.js';
import { RecordingSearchService } from '../recordings/search/recording-search.service.js';
import { UploadRequestsService } from '../recordings/upload/upload-requests.service.js';

/** Longer audio is too long for a message. */
export const MAX_AUDIO_BYTES = 1_500_000;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Values of `GET /v1/recordings`, with the tags as an object. */
export type SearchInput = { custom_tags?: Record<string, string> | undefined } & Record<
  string,
  string | number | object | undefined
>;

export interface UploadInput {
  audio_base64: string;
  filename?: string | undefined;
  title?: string | undefined;
  custom_tags?: Record<string, string> | undefined;
  language?: string | undefined;
  vocabulary?: string[] | undefined;
}

export interface UpdateInput {
  recording_id: string;
  title?: string | null | undefined;
  custom_tags?: Record<string, string> | null | undefined;
}

/** A recording as assistants need it: without what is of storage and of networks. */
interface RecordingSummary {
  id: string;
  title: string;
  filename: string;
  status: string;
  duration_seconds: number;
  created_at: string;
  user_id: string | null;
  custom_tags: Record<string, string>;
  snippet?: string;
}

type Listed = Awaited<ReturnType<RecordingsService['list']>>['items'][number];

/** Who calls a tool, and in which request. */
export interface ToolCaller {
  principal: Principal;
  request: Request;
}

/** Finds and uploads recordings for assistants. */
@Injectable()
export class RecordingToolsService {
  private readonly validation = new RequestValidationPipe();

  constructor(
    private readonly recordings: RecordingsService,
    private readonly searches: RecordingSearchService,
    private readonly uploads: UploadRequestsService,
  ) {}

  /** @throws as `GET /v1/recordings` */
  async search(accountId: string, { custom_tags: tags, ...given }: SearchInput) {
    const query = await this.queryOf({ limit: 20, ...given }, tags ?? {});
    const found = isSearch(query)
      ? await this.searches.search(accountId, query)
      : await this.recordings.list(accountId, query);
    const { page, limit } = query;
    return {
      recordings: found.items.map(summaryOf),
      page,
      total: found.total,
      has_more: found.hasMore ?? (page + 1) * limit < found.total,
    };
  }

  /** @throws NotFoundError */
  async get(accountId: string, id: string) {
    const recording = await this.recordings.get(accountId, id);
    const { failureReason, processedAt, features, audioFormat } = recording;
    return {
      recording: {
        ...summaryOf(recording),
        audio_format: audioFormat,
        processed_at: processedAt && resourceTime(processedAt),
        failure_reason: failureReason,
        speech_seconds: features?.speech_seconds ?? null,
        no_speech: features?.no_speech ?? null,
      },
    };
  }

  /** @throws as `POST /v1/recordings` */
  async upload({ principal, request }: ToolCaller, input: UploadInput) {
    const { audio_base64: audio, filename, title, custom_tags: tags, language, vocabulary } = input;
    if (audio === '' || audio.length % 4 !== 0 || !BASE64.test(audio)) {
      throw new InvalidRequestError({ field: 'audio_base64', reason: 'must be base64 with its padding' });
    }
    const bytes = Buffer.from(audio, 'base64');
    if (bytes.length > MAX_AUDIO_BYTES) throw new PayloadTooLargeError('The audio', MAX_AUDIO_BYTES);
    const details = {
      ...(title !== undefined && { title }),
      ...(tags && { custom_tags: JSON.stringify(tags) }),
      ...(language !== undefined && { language }),
      ...(vocabulary && { vocabulary: JSON.stringify(vocabulary) }),
    };
    const { recording } = await this.uploads.acceptAudio(request, principal, { bytes, filename }, details);
    return { recording: summaryOf(recording) };
  }

  /** @throws as `PATCH /v1/recordings/{recording_id}` */
  async update(accountId: string, { recording_id: id, ...given }: UpdateInput) {
    const fields = await this.validation.transform(given, { type: 'body', metatype: UpdateRecordingDto });
    return {
      recording: summaryOf(await this.recordings.update(accountId, id, labelsOf(fields as UpdateRecordingDto))),
    };
  }

  private async queryOf(
    given: Record<string, string | number | object | undefined>,
    tags: Record<string, string>,
  ): Promise<ListRecordingsQuery> {
    const parameters = [
      ...Object.entries(given).flatMap(([name, value]) =>
        typeof value === 'string' || typeof value === 'number' ? [[name, `${value}`]] : [],
      ),
      ...Object.entries(tags).map(([key, value]) => [`tag.${key}`, value]),
    ];
    const fields: unknown = Object.fromEntries(parameters);
    const query = await this.validation.transform(fields, { type: 'query', metatype: ListRecordingsQuery });
    checkDays(query as ListRecordingsQuery);
    checkOrder(query as ListRecordingsQuery);
    return query as ListRecordingsQuery;
  }
}

function summaryOf(recording: Listed & { snippet?: string }): RecordingSummary {
  return {
    id: recording.id,
    title: recording.title ?? recording.originalFilename,
    filename: recording.originalFilename,
    status: recording.status,
    duration_seconds: recording.durationMs / 1000,
    created_at: resourceTime(recording.createdAt),
    user_id: recording.userId,
    custom_tags: JSON.parse(recording.customTags ?? '{}') as Record<string, string>,
    ...(recording.snippet !== undefined && { snippet: recording.snippet }),
  };
}
