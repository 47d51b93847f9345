import { Injectable } from '@nestjs/common';
import { costOfText, type ThreadTask, ThreadPoolService } from '../../../platform/concurrency/thread-pool.service.js';
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
