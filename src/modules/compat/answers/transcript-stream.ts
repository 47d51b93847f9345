import type { Response } from 'express';
import type { ApiError } from '../../../platform/errors/errors.js';
import type { ChunkSignal } from '../../transcriptions/transcript-signals.service.js';
import { openAiErrorBody } from '../openai-errors.js';
import { type HeardNote, usageOf } from './transcription-response.js';

/** Keeps proxies from ending a stream on which nothing is said. */
const COMMENT_MS = 15_000;

/**
 * The answer to `stream: true`: a delta for each chunk, the whole text, and `[DONE]`. It begins with the first delta, so
 * that until then an error has a status of its own.
 */
export class TranscriptStream {
  private sent = '';
  /** The attempt and engine of the first chunk: another one begins the text anew. */
  private source: string | null = null;
  private comments: NodeJS.Timeout | undefined;

  /** @param setHeaders called before the first event, with what told the engine. */
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

  end(note: HeardNote & { provider: string; model: string }): void {
    this.begin(note);
    // Another attempt may have heard other words than those that were sent. What is done is right.
    const rest = note.text.startsWith(this.sent) ? note.text.slice(this.sent.length) : '';
    if (rest !== '') this.sendDelta(rest);
    this.send({ type: 'transcript.text.done', text: note.text, usage: usageOf(note) });
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
