import type { Recording, UploadOptions, VoiceNotes } from '../../index.js';
import { usageError } from '../cli-error.js';
import type { Context } from '../context.js';
import { beforeEnd } from '../ending.js';
import { EXIT, type ExitCode } from '../exit-codes.js';
import { explain } from '../explain-error.js';
import { duration } from '../terminal/format.js';
import { oneLine } from '../terminal/text-width.js';
import { type AudioInput, findInputs, load } from '../uploads/audio-input.js';
import { limiter } from '../uploads/limiter.js';
import { ProgressBoard, type ProgressLine } from '../uploads/progress-board.js';
import { sendUpload } from '../uploads/send-upload.js';
import { type Format, TranscriptFolder, transcriptOf, waitUntilTranscribed } from '../uploads/transcripts.js';
import { UploadRecords } from '../uploads/upload-records.js';

export interface UploadCommandOptions {
  wait?: boolean;
  format?: Format;
  out?: string;
  tag?: Record<string, string>;
  language?: string;
  languages?: string[];
  vocabulary?: string[];
  channels?: 'mixed' | 'separate';
  speakers?: 'auto' | number;
  retainAudioDays?: number;
  retainTextDays?: number;
  deleteAudioAfter?: 'transcribed';
  jobs?: number;
  again?: boolean;
  filename?: string;
}

/** What became of one file, as `--json` tells it. */
interface Outcome {
  file: string;
  recording: Recording | null;
  already_uploaded: boolean;
  transcription: string | object | null;
  /** Where the transcription was written. */
  output: string | null;
  error: { message: string; type: string | null; request_id: string | null; exit_code: ExitCode } | null;
}

/** Files are few, and each waits on its own. */
const WAITS = 4;
/** Many files outlast the limit of requests: it is waited for. */
const RETRIES = 10;

export async function uploadFiles(context: Context, options: UploadCommandOptions, files: string[]): Promise<ExitCode> {
  const inputs = await findInputs(files, options.filename);
  if (inputs.length > 1 && options.format !== undefined && options.format !== 'text' && !options.out) {
    if (!context.output.json) throw usageError(`--format ${options.format} with several files needs --out FOLDER.`);
  }
  return await new UploadRun(context, await context.client({ maxRetries: RETRIES }), options, inputs).all();
}

export class UploadRun {
  private readonly records = new UploadRecords();
  private readonly board: ProgressBoard;
  private readonly folder: TranscriptFolder | null;
  private readonly waits = limiter(WAITS);
  private readonly wantsText: boolean;
  private readonly several: boolean;

  constructor(
    private readonly context: Context,
    private readonly client: VoiceNotes,
    private readonly options: UploadCommandOptions,
    private readonly inputs: readonly AudioInput[],
  ) {
    this.board = new ProgressBoard(context.output);
    this.folder = options.out === undefined ? null : new TranscriptFolder(options.out, inputs);
    this.several = inputs.length > 1;
    this.wantsText = Boolean(options.wait || options.format || options.out);
  }

  async all(): Promise<ExitCode> {
    const { output } = this.context;
    await this.folder?.prepare();
    await this.records.prune();
    const forget = beforeEnd(() => {
      this.board.stop();
      output.note('Interrupted. Run the same command again: what was uploaded is not uploaded twice.');
    });
    const places = limiter(this.options.jobs ?? 2);
    const outcomes = await Promise.all(this.inputs.map((input) => this.one(input, places)));
    this.board.stop();
    forget();
    output.document({ uploads: outcomes });
    const failed = outcomes.filter(({ error }) => error !== null);
    if (this.several && failed.length > 0) output.note(`${failed.length} of ${outcomes.length} files failed.`);
    const codes = new Set(failed.map(({ error }) => error?.exit_code ?? EXIT.failure));
    if (codes.size === 0) return EXIT.ok;
    return codes.size === 1 ? ([...codes][0] ?? EXIT.failure) : EXIT.failure;
  }

  private async one(input: AudioInput, places: ReturnType<typeof limiter>): Promise<Outcome> {
    const outcome: Outcome = {
      file: input.label,
      recording: null,
      already_uploaded: false,
      transcription: null,
      output: null,
      error: null,
    };
    try {
      const { recording, known } = await places(() => this.send(input));
      Object.assign(outcome, { recording, already_uploaded: known });
      if (this.wantsText) await this.waits(() => this.fetchText(outcome, input, recording));
      else this.board.above(() => this.context.output.print(this.resultLine(input, recording, known)));
    } catch (error) {
      const { message, exitCode } = explain(error);
      const { type = null, requestId = null } = error as { type?: string; requestId?: string | null };
      outcome.error = { message, type, request_id: requestId, exit_code: exitCode };
      const quote = this.context.options.verbose && requestId ? ` (request id ${requestId})` : '';
      this.board.above(() => this.context.output.error(`${input.label}: ${message}${quote}`));
    }
    return outcome;
  }

  /** The service is told the link, and fetches it. */
  private async sendLink(url: string) {
    const { tag: tags, language, languages, vocabulary, channels, speakers } = this.options;
    const { retainAudioDays, retainTextDays, deleteAudioAfter } = this.options;
    const retention = { retainAudioDays, retainTextDays, deleteAudioAfter };
    const options = { tags, language, languages, vocabulary, channels, speakers, ...retention };
    const recording = await this.client.recordings.upload({ url }, options);
    return { recording, known: false };
  }

  private async send(input: AudioInput) {
    const { again = false, tag: tags, language, languages, vocabulary, channels, speakers } = this.options;
    if (input.isLink) return await this.sendLink(input.path);
    const { retainAudioDays, retainTextDays, deleteAudioAfter } = this.options;
    const retention = { retainAudioDays, retainTextDays, deleteAudioAfter };
    const connection = await this.context.connection();
    const audio = await load(input);
    let line: ProgressLine | null = null;
    const onBegin = () => {
      line ??= this.board.add(input.label, audio.content.length);
    };
    try {
      const identity = {
        service: connection.url,
        account: connection.account ?? connection.key,
        path: input.path,
        sha256: audio.sha256,
        tags,
        language,
        languages,
        vocabulary,
        channels,
        speakers,
        retention,
      };
      const options: UploadOptions = { tags, language, languages, vocabulary, channels, speakers, ...retention };
      options.onProgress = ({ sent }) => line?.update({ sent });
      const { client, records } = this;
      return await sendUpload({ client, records, identity, input, audio, options, again, onBegin });
    } finally {
      (line as ProgressLine | null)?.done();
    }
  }

  private async fetchText(outcome: Outcome, input: AudioInput, { id }: Recording): Promise<void> {
    const line = this.board.add(input.label, 0);
    line.update({ state: 'transcribing …' });
    try {
      outcome.recording = await waitUntilTranscribed(this.client, id);
      const format = this.options.format ?? 'text';
      const text = await transcriptOf(this.client, id, format);
      outcome.transcription = format === 'json' ? (JSON.parse(text) as object) : text;
      if (this.folder) outcome.output = await this.folder.write(input, format, text);
      this.board.above(() => this.printText(outcome, text));
    } finally {
      line.done();
    }
  }

  private printText({ file, output: written }: Outcome, text: string): void {
    const { output } = this.context;
    if (output.json) return;
    if (written !== null) return output.print(`${oneLine(file)} → ${oneLine(written)}`);
    if (this.several) output.print(output.paint('bold', `==> ${oneLine(file)} <==`));
    output.raw(text);
    if (this.several) output.print('');
  }

  private resultLine(input: AudioInput, recording: Recording, known: boolean): string {
    const { paint } = this.context.output;
    const state = known ? `already uploaded, ${recording.status}` : recording.status;
    const length = recording.duration_seconds > 0 ? `  ${duration(recording.duration_seconds)}` : '';
    return `${recording.id}  ${oneLine(input.label)}${length}  ${paint('dim', state)}`;
  }
}
