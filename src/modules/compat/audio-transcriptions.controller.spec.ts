import { EventEmitter } from 'node:events';
import type { Response } from 'express';
import { ServiceUnavailableError } from '../../platform/errors/errors.js';
import { TranscriptStream } from './audio-transcriptions.controller.js';

class FakeResponse extends EventEmitter {
  headersSent = false;
  written = '';
  isEnded = false;
  readonly headers = new Map<string, unknown>();

  setHeader(name: string, value: unknown): void {
    if (this.headersSent) throw new Error('the headers are sent');
    this.headers.set(name, value);
  }

  flushHeaders(): void {
    this.headersSent = true;
  }

  write(text: string): void {
    this.written += text;
  }

  end(text = ''): void {
    this.written += text;
    this.isEnded = true;
    this.emit('close');
  }

  get events(): unknown[] {
    return this.written
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice('data: '.length)) as unknown);
  }
}

const ENGINE = { provider: 'engine', model: 'model' };
const note = (text: string) => ({
  ...ENGINE,
  recordingId: 'r',
  names: null,
  speakersProblem: null,
  text,
  language: 'english',
  durationSeconds: 2.5,
  confidence: 1,
  words: '[]',
  languages: null,
});
const chunk = (offset: number, text: string, attempt = 1) => ({
  type: 'chunk' as const,
  attempt,
  offset,
  text,
  ...ENGINE,
});

describe('TranscriptStream', () => {
  let response: FakeResponse;
  let stream: TranscriptStream;

  beforeEach(() => {
    jest.useFakeTimers();
    response = new FakeResponse();
    stream = new TranscriptStream(response as unknown as Response);
  });

  afterEach(() => jest.useRealTimers());

  const deltas = () => response.events.flatMap((event) => (event as { delta?: string }).delta ?? []);

  it('sends chunks as they come, the whole text, and [DONE]', () => {
    expect(stream.hasBegun).toBe(false);
    stream.add(chunk(0, 'one'));
    expect(stream.hasBegun).toBe(true);
    stream.add(chunk(3, ' two'));
    stream.end(note('one two'));
    expect(deltas()).toEqual(['one', ' two']);
    expect(response.events.at(-1)).toEqual({
      type: 'transcript.text.done',
      text: 'one two',
      usage: { type: 'duration', seconds: 3 },
    });
    expect(response.written).toMatch(/data: \[DONE\]\n\n$/);
    expect(response.headers.get('X-Transcription-Engine')).toBe('engine/model');
  });

  it('makes up for chunks that were lost, so that the deltas are the text', () => {
    stream.add(chunk(0, 'one'));
    stream.add(chunk(7, ' three'));
    stream.end(note('one two three'));
    expect(deltas()).toEqual(['one', ' two three']);
  });

  it('sends nothing of another attempt, and the right text at the end', () => {
    stream.add(chunk(0, 'won'));
    stream.add(chunk(0, 'one', 2));
    stream.add(chunk(3, ' two', 2));
    stream.end(note('one two'));
    expect(deltas()).toEqual(['won']);
    expect(response.events.at(-1)).toMatchObject({ text: 'one two' });
  });

  it('sends nothing of an engine that took over, even where its text is as long', () => {
    stream.add(chunk(0, 'won'));
    stream.add({ ...chunk(3, ' two'), provider: 'another' });
    stream.end(note('one two'));
    expect(deltas()).toEqual(['won']);
    expect(response.events.at(-1)).toMatchObject({ text: 'one two' });
  });

  it('says nothing for silence but the end', () => {
    stream.end(note(''));
    expect(deltas()).toEqual([]);
    expect(response.events).toHaveLength(1);
  });

  it('ends with an error and without [DONE] when the rest fails', () => {
    stream.add(chunk(0, 'one'));
    stream.fail(new ServiceUnavailableError(1));
    expect(response.events.at(-1)).toMatchObject({ error: { type: 'server_error', code: 'service_unavailable' } });
    expect(response.written).not.toContain('[DONE]');
    expect(response.isEnded).toBe(true);
  });

  it('sends a comment every 15 s while nothing is said, until it is closed', () => {
    stream.add(chunk(0, 'one'));
    jest.advanceTimersByTime(31_000);
    expect(response.written.match(/^: waiting$/gm)).toHaveLength(2);
    response.emit('close');
    expect(jest.getTimerCount()).toBe(0);
  });
});
