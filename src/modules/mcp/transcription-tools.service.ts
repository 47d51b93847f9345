import { Injectable } from '@nestjs/common';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { parseEntityTags } from '../../platform/http/header-values.js';
import { RequestValidationPipe } from '../../platform/http/input/request-validation.pipe.js';
import { RecordingInclusionsService } from '../recordings/recording-inclusions.service.js';
import { RecordingsService } from '../recordings/recordings.service.js';
import { CorrectionsService, CorrectTranscriptionDto } from '../transcriptions/corrections.service.js';
import { TranscriptExportsService } from '../transcriptions/exports/transcript-exports.service.js';
import { TranscriptionsService } from '../transcriptions/transcriptions.service.js';

export const MAX_CHARACTERS = 20_000;

/** The forms of a transcription that assistants can read. */
export const READABLE_FORMATS = ['text', 'paragraphs', 'srt', 'vtt'] as const;

export interface ReadInput {
  recording_id: string;
  format?: (typeof READABLE_FORMATS)[number] | undefined;
  offset?: number | undefined;
  max_characters?: number | undefined;
}

export interface CorrectInput {
  recording_id: string;
  text: string;
  etag?: string | undefined;
}

/** Of the part `transcription` of a recording. */
interface IncludedTranscription {
  text: string;
  words: string;
  language: string;
  confidence: number;
  etag: string;
  version: string;
}

/** Reads and corrects transcriptions for assistants. */
@Injectable()
export class TranscriptionToolsService {
  private readonly validation = new RequestValidationPipe();

  constructor(
    private readonly recordings: RecordingsService,
    private readonly inclusions: RecordingInclusionsService,
    private readonly transcriptions: TranscriptionsService,
    private readonly corrections: CorrectionsService,
    private readonly exports: TranscriptExportsService,
  ) {}

  /** A part of the text. @throws as `GET /v1/recordings/{recording_id}/transcription` */
  async read(accountId: string, input: ReadInput) {
    const { recording_id: id, format = 'text', offset = 0, max_characters: maximum = MAX_CHARACTERS } = input;
    const { durationMs, speakerNames: names } = await this.recordings.get(accountId, id);
    const { words, language, confidence, etag, version, text: served } = await this.find(accountId, id);
    const source = { recordingId: id, words, durationSeconds: durationMs / 1000, names };
    // The text alone, as it can be corrected: without who says it.
    const text = format === 'text' ? served : await this.exports.render(accountId, { format, text: served, ...source });
    const end = endOf(text, offset, maximum);
    return {
      recording_id: id,
      text: text.slice(offset, end).toWellFormed(),
      offset,
      next_offset: end < text.length ? end : null,
      total_characters: text.length,
      language,
      confidence,
      version,
      etag,
    };
  }

  /** @throws as `PUT /v1/recordings/{recording_id}/transcription` */
  async correct(accountId: string, { recording_id: id, text, etag }: CorrectInput) {
    const ifMatch = etag === undefined ? null : parseEntityTags(etag);
    if (etag !== undefined && ifMatch === null) {
      const reason = 'must be the etag of read_transcription, with its quotation marks';
      throw new InvalidRequestError({ field: 'etag', reason });
    }
    const correction = await this.validation.transform({ text }, { type: 'body', metatype: CorrectTranscriptionDto });
    await this.corrections.correct(accountId, id, correction as CorrectTranscriptionDto, ifMatch);
    const { etag: newTag, version, text: served } = await this.find(accountId, id);
    return { recording_id: id, etag: newTag, version, total_characters: served.length };
  }

  private async find(accountId: string, id: string): Promise<IncludedTranscription> {
    const recording = await this.recordings.get(accountId, id);
    const { transcription } = await this.inclusions.load(recording, ['transcription']);
    // Throws the reason why there is none.
    if (!transcription) await this.transcriptions.find(accountId, id);
    return transcription as IncludedTranscription;
  }
}

/** Where a part ends: not between the two halves of a character. */
function endOf(text: string, offset: number, maximum: number): number {
  const end = Math.min(text.length, offset + maximum);
  const isSplit = end < text.length && text.charCodeAt(end) >= 0xdc00 && text.charCodeAt(end) <= 0xdfff;
  return isSplit && end - 1 > offset ? end - 1 : end;
}
