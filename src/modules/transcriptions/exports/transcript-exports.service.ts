import { Injectable } from '@nestjs/common';
import { costOfText, type ThreadTask, ThreadPoolService } from '../../../platform/concurrency/thread-pool.service.js';
import { selectList } from '../../../platform/database/statement-parts.js';
import { Transcription } from '../transcription.entity.js';
import { presentTranscription } from '../transcription.presenter.js';
import { servedVersion } from '../transcription-versions.js';
import { type DiarizedInput, diarizedSegmentsOf } from './diarized-json.js';
import { type ExportInput, hasSpeakers, renderExport } from './render-export.js';
import { type LogprobsInput, logprobsOf, type VerboseInput, verboseJsonOf } from './verbose-json.js';

const RENDER_EXPORT: ThreadTask<ExportInput, string> = {
  run: renderExport,
  module: 'modules/transcriptions/exports/render-export.js',
};

const VERBOSE_JSON: ThreadTask<VerboseInput, string> = {
  run: verboseJsonOf,
  module: 'modules/transcriptions/exports/verbose-json.js',
};

const LOGPROBS: ThreadTask<LogprobsInput, string> = {
  run: logprobsOf,
  module: 'modules/transcriptions/exports/verbose-json.js',
};

const DIARIZED_SEGMENTS: ThreadTask<DiarizedInput, string> = {
  run: diarizedSegmentsOf,
  module: 'modules/transcriptions/exports/diarized-json.js',
};

/** A transcription as it is stored, with what its forms need of the recording. */
export type StoredText = Transcription & Pick<ExportInput, 'names'> & { durationMs: number };

/** Those of all recordings of the accounts `$1`, for archives. SQL, because they are read by a cursor. */
export const STORED_TEXTS = `
  SELECT ${selectList(Transcription, 't')}, r.duration_ms AS "durationMs", r.speaker_names AS names
  FROM recordings r JOIN transcriptions t ON t.recording_id = r.id AND t.account_id = r.account_id
  WHERE r.account_id = ANY ($1) ORDER BY r.created_at, r.id`;

/** Names of files, by the form that they have. */
const FILES = {
  text: 'text.txt',
  paragraphs: 'paragraphs.txt',
  srt: 'text.srt',
  vtt: 'text.vtt',
  rttm: 'text.rttm',
} as const;

/** A transcript in other forms (D42), for this module and others. */
@Injectable()
export class TranscriptExportsService {
  constructor(private readonly threads: ThreadPoolService) {}

  /** The body of an answer. @throws ServiceUnavailableError */
  async render(accountId: string, input: ExportInput): Promise<string> {
    const { format, text, words } = input;
    if (format === 'text' && !hasSpeakers(words)) return text;
    return await this.threads.run(accountId, RENDER_EXPORT, input, costOfText(text, words));
  }

  /** What the API answers in each of its forms. @throws ServiceUnavailableError */
  async *filesOf(stored: StoredText): AsyncGenerator<{ file: string; text: string }> {
    const { recordingId, accountId, names = null, durationMs } = stored;
    const served = servedVersion(stored, 'current');
    yield { file: 'text.json', text: `${JSON.stringify(presentTranscription(served), null, 2)}\n` };
    const { text, words } = served;
    for (const format of Object.keys(FILES) as (keyof typeof FILES)[]) {
      const input = { format, recordingId, text, words, durationSeconds: durationMs / 1000, names };
      yield { file: FILES[format], text: await this.render(accountId, input) };
    }
  }

  /** As OpenAI names that form of its answer (D45); JSON text. @throws ServiceUnavailableError */
  async verboseJson(accountId: string, input: VerboseInput): Promise<string> {
    return await this.threads.run(accountId, VERBOSE_JSON, input, costOfText(input.text, input.words));
  }

  /**
   * The segments of what OpenAI names `diarized_json` (D87).
   * @returns JSON text of the list; null where speakers were not told apart. @throws ServiceUnavailableError
   */
  async diarizedSegments(accountId: string, input: DiarizedInput): Promise<string | null> {
    if (input.text !== '' && !hasSpeakers(input.words)) return null;
    return await this.threads.run(accountId, DIARIZED_SEGMENTS, input, costOfText(input.text, input.words));
  }

  /** What OpenAI gives for `include[]=logprobs` (D70); JSON text. @throws ServiceUnavailableError */
  async logprobs(accountId: string, input: LogprobsInput): Promise<string> {
    return await this.threads.run(accountId, LOGPROBS, input, costOfText(input.text, input.words));
  }
}
