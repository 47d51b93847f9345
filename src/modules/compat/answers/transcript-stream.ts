import type { Response } from 'express';
import type { ApiError } from '../../../platform/errors/errors.js';
import type { ChunkSignal } from '../../transcriptions/transcript-signals.service.js';
import { openAiErrorBody } from '../openai-errors.js';
import { type StoredTranscript, usageOf } from './transcription-response.js';

/** Keeps proxies from ending a stream without data. */
const COMMENT_MS = 15_000;

/**
 * The answer to `stream: true`: a delta for each chunk, the whole text, and `[DONE]`. It begins with the first delta, so
 * that until then an error has a status of its own.
 */
export class TranscriptStream {
  private sent = '';
  /** The attempt and engine of the first chunk: another one starts the text again. */
  private source: string | null = null;
  private comments: NodeJS.Timeout | undefined;

  /** @param setHeaders called before the first event, with the engine that transcribes. */
  constructor(
    private readonly response: Response,
    private readonly setHeaders: (engine: { provider: string; model: string }) => void,
  ) {
    response.once('close', () => clearInterval(this.comments));
  }

  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  /** Chunks that do not continue the text are left out: the end makes up for them. */
  add(chunk: ChunkSignal): void {
    const source = `${chunk.attempt} ${chunk.provider}`;
    this.source ??= source;
    if (source !== this.source || chunk.offset !== this.sent.length) return;
    this.begin(chunk);
    this.sendDelta(chunk.text);
  }

  end(transcript: StoredTranscript & { provider: string; model: string }): void {
    this.begin(transcript);
    // Another attempt may have another text than the one that was sent: `done` has the right one.
    const rest = transcript.text.startsWith(this.sent) ? transcript.text.slice(this.sent.length) : '';
    if (rest !== '') this.sendDelta(rest);
    this.send({ type: 'transcript.text.done', text: transcript.text, usage: usageOf(transcript) });
    this.response.end('data: [DONE]\n\n');
  }

  /** For an error after the beginning. Without `[DONE]`, so that no client takes it for the end. */
  fail(error: ApiError): void {
    this.send(openAiErrorBody(error));
    this.response.end();
  }

  private begin(engine: { provider: string; model: string }): void {
    if (this.hasBegun) return;
    this.setHeaders(engine);
    this.response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
    // nginx would keep the events until the end.
    this.response.setHeader('X-Accel-Buffering', 'no');
    this.response.flushHeaders();
    this.comments = setInterval(() => this.response.write(': waiting\n\n'), COMMENT_MS).unref();
  }

  private sendDelta(delta: string): void {
    this.sent += delta;
    this.send({ type: 'transcript.text.delta', delta });
  }

  private send(event: object): void {
    this.response.write(`data: ${JSON.stringify(event)}\n\n`);
  }
}
