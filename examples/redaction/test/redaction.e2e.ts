import { Module } from '@nestjs/common';
import type { EngineDefinition, TranscriptWord } from 'voice-note-transcription-service';
import { type ApiClient, useService } from 'voice-note-transcription-service/testing';
import { redaction } from '../src/extension.js';
import { redact } from '../src/redact.js';

const wordsOf = (text: string): TranscriptWord[] =>
  text.split(' ').map((word, i) => ({ word, start: i, end: i + 1, confidence: 1 }));

async function redacted(text: string) {
  const { text: left, words } = await redact({ text, words: wordsOf(text), language: 'english' });
  expect(words.map(({ word }) => word).join(' ')).toBe(left);
  return left;
}

describe('redaction', () => {
  it.each([
    ['call me on +44 20 7946 0958 today', 'call me on [telephone number] today'],
    ['call 555-010-4477.', 'call [telephone number].'],
    ['five five five oh one oh four four seven seven please', '[telephone number] please'],
    ['the card is 4111 1111 1111 1111 until June', 'the card is [card number] until June'],
    ['number 1234 5678 9012 3456 78', 'number [number]'],
    ['write to jane.doe@example.co.uk or bob@example.org', 'write to [e-mail address] or [e-mail address]'],
    ['it is jane dot doe at example dot com thanks', 'it is [e-mail address] thanks'],
  ])('of "%s" leaves "%s"', async (text, left) => {
    expect(await redacted(text)).toBe(left);
  });

  it.each([
    'meet me at noon on 2026-11-22',
    'two of the three boxes weigh 120 kilos',
    'look at example number one',
    'the year 2026 and the room 4711',
  ])('leaves "%s" as it is', async (text) => {
    expect(await redacted(text)).toBe(text);
  });

  it('gives a redacted word the time of all that it replaces', async () => {
    const { words } = await redact({ text: '', words: wordsOf('call 020 7946 0958 now'), language: 'english' });
    expect(words).toMatchObject([{ word: 'call' }, { word: '[telephone number]', start: 1, end: 4 }, { word: 'now' }]);
  });
});

@Module({})
class EngineModule {}

const SAID = 'my number is 020 7946 0958 and my address is jane@example.com';

/** Hears the same in every recording. */
const fixedEngine: EngineDefinition = {
  name: 'fixed',
  create: () => ({
    name: 'fixed',
    model: 'fixed-1',
    languages: 'any',
    defaultLanguage: 'english',
    maxChunkSeconds: 60,
    concurrency: 1,
    transcribe: async () => ({ text: SAID, confidence: 1, language: 'english', words: wordsOf(SAID) }),
    problem: async () => null,
    close: async () => undefined,
  }),
};

describe('the service with redaction', () => {
  const extensions = [redaction, { module: EngineModule, engines: [fixedEngine] }];
  const service = useService({ TRANSCRIPTION_ENGINE: 'fixed' }, { extensions });
  let client: ApiClient;

  beforeEach(async () => {
    client = await service.account();
  });

  it('stores, searches and exports only what is left', async () => {
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });

    const { body: transcription } = await client.get(`${body.uri}/transcription`).expect(200);
    expect(transcription.text).toBe('my number is [telephone number] and my address is [e-mail address]');
    expect(transcription.words).not.toMatch(/7946|jane/);
    const { text } = await client.get(`${body.uri}/transcription?format=srt`).expect(200);
    expect(text).not.toMatch(/7946|jane/);
    expect((await client.get('/v1/recordings?q=jane').expect(200)).body.total).toBe(0);
    expect((await client.get('/v1/recordings?q=number').expect(200)).body.total).toBe(1);
    const rows = await service.database.query('SELECT t::text AS row FROM transcriptions t');
    expect(JSON.stringify(rows)).not.toMatch(/7946|jane/);
  });
});
