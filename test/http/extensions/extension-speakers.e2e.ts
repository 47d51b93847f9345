import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import type {
  EngineDefinition,
  TranscribeOptions,
  TranscriptWord,
} from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import type { FilterableTranscript } from '../../../src/modules/transcriptions/worker/transcriber.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { useService } from '../../../src/testing/test-service.js';
import { twoChannels } from '../../support/audio/audio-bytes.js';
import { speech } from '../../../src/testing/speech.js';
import { expectInvalid } from '../../support/http/expect-errors.js';

const AUDIO = 'go-forward-ten-meters.wav';

/** `[start, end, speaker]` of each word. */
type Script = [number, number, string?][];
/** What is heard in each language. */
const SCRIPTS: Record<string, Script> = {
  english: [
    [0.2, 0.4, 'agent'],
    [0.5, 1, 'caller'],
    [1.1, 2, 'agent'],
  ],
  // The same voices under other names, without the first word.
  german: [
    [0.5, 1, 'v1'],
    [1.1, 2, 'v2'],
  ],
  // And a voice that was not heard before.
  dutch: [
    [0.5, 1, 'v1'],
    [1.1, 2, 'v2'],
    [2.2, 2.4, 'v3'],
  ],
  french: [
    [0.2, 0.4, 'caller'],
    [0.5, 1, 'caller'],
  ],
  spanish: [],
  // From the start of the chunk.
  italian: [[0.2, 0.4]],
};

const asked: TranscribeOptions[] = [];

const ENGINE = {
  name: 'labelling',
  model: 'labelling-1',
  languages: Object.keys(SCRIPTS),
  defaultLanguage: 'english',
  maxChunkSeconds: 60,
  concurrency: 1,
  problem: async () => null,
  close: async () => undefined,
};

const labelling: EngineDefinition = {
  name: ENGINE.name,
  create: () => ({
    ...ENGINE,
    labelsSpeakers: true,
    transcribe: async ({ start: from }, options) => {
      asked.push(options);
      const language = options.language ?? ENGINE.defaultLanguage;
      const origin = language === 'italian' ? 0 : from;
      const words = (SCRIPTS[language] ?? []).map(([start, end, speaker], i): TranscriptWord => {
        const word = { word: `w${i}`, start: start - origin, end: end - origin, confidence: 0.9 };
        return speaker === undefined ? word : { ...word, speaker };
      });
      return { text: words.map(({ word }) => word).join(' ') || 'no times', confidence: 0.9, language, words };
    },
  }),
};

/** It labels words without being asked, and says nothing of that. */
const plain: EngineDefinition = {
  name: 'plain',
  create: (env) => ({ ...labelling.create(env), name: 'plain', languages: ['polish'], labelsSpeakers: false }),
};
SCRIPTS.polish = [[0.2, 0.4, 'agent']];

/** Copies of the words without what it does not know. */
const filter = ({ text, words }: FilterableTranscript) => ({
  text,
  words: words.map(({ word, start, end, confidence }) => ({ word, start, end, confidence })),
});

@Module({})
class EngineModule {}

const extensions = [{ module: EngineModule, engines: [labelling, plain], transcriptFilters: [filter] }];

describe('speakers', () => {
  const environment = useEnvironment(extensions);
  const service = useService({ TRANSCRIPTION_ENGINE: 'labelling,plain' }, { extensions, environment });
  let client: ApiClient;

  beforeEach(async () => {
    client = await service.account();
    asked.length = 0;
  });

  interface Found {
    id: string;
    features: Record<string, unknown>;
    speakers: (string | undefined)[];
  }

  async function found(id: string): Promise<Found> {
    const { status, features } = await client.finished(id);
    expect(status).toBe('transcribed');
    const { body } = await client.get(`/v1/recordings/${id}/transcription`).expect(200);
    const words = JSON.parse(body.words) as TranscriptWord[];
    return { id, features: features as Found['features'], speakers: words.map(({ speaker }) => speaker) };
  }

  async function transcribed(fields: Record<string, string>, audio: string | Buffer = AUDIO): Promise<Found> {
    const { body } = await client.upload(audio, fields).expect(201);
    return await found(body.id);
  }

  /** In another language. */
  async function again(id: string, body: object): Promise<Found> {
    await client.post(`/v1/recordings/${id}/transcribe`, body).expect(202);
    await eventually(async () => {
      const { body: versions } = await client.get(`/v1/recordings/${id}/transcriptions`).expect(200);
      return versions.pending === null || null;
    });
    return await found(id);
  }

  const spooled = () => readdir(join(String(environment.variables.STORAGE_DIR), 'spool'));

  it('are those that an engine has labelled, in the order in which they speak', async () => {
    const { features, speakers } = await transcribed({ language: 'english', speakers: '2' });
    expect(speakers).toEqual(['A', 'B', 'A']);
    expect(features).toEqual({
      speech_seconds: expect.any(Number),
      no_speech: false,
      speakers: { count: 2, model: 'labelling labelling-1' },
    });
    expect(asked).toMatchObject([{ speakers: 2 }]);
    const one = await transcribed({ language: 'french', diarize: 'true' });
    expect([one.speakers, one.features.speakers]).toMatchObject([['A', 'A'], { count: 1 }]);
    expect(asked).toMatchObject([{ speakers: 2 }, { speakers: 0 }]);
  });

  it('are in no word and no feature unless they are asked for', async () => {
    for (const language of ['english', 'polish']) {
      const { features, speakers } = await transcribed({ language });
      expect(Object.keys(features).toSorted()).toEqual(['no_speech', 'speech_seconds']);
      expect(speakers.every((speaker) => speaker === undefined)).toBe(true);
    }
    expect(asked.every((options) => !('speakers' in options))).toBe(true);
  });

  it('are null with the reason where words have no times, no labels, or there is no model', async () => {
    const reasons: unknown[] = [];
    for (const language of ['spanish', 'italian', 'polish']) {
      const { features, speakers } = await transcribed({ language, speakers: 'auto' });
      expect(features.speakers).toBeNull();
      expect(speakers.every((speaker) => speaker === undefined)).toBe(true);
      reasons.push(features.speakers_problem);
    }
    expect(reasons).toEqual([
      expect.stringMatching(/no times of words/),
      expect.stringMatching(/told no speakers apart/),
      expect.stringMatching(/^[A-Z].*\.$/),
    ]);
    expect(await spooled()).toEqual([]);
  });

  it('are the channels where each of two is transcribed on its own', async () => {
    const [left, right] = await Promise.all([speech(AUDIO), speech('cards-001.wav')]);
    const call = twoChannels(left, right, 3.5, 6);
    const { features, speakers } = await transcribed(
      { language: 'italian', channels: 'separate', speakers: 'auto' },
      call,
    );
    expect(features).toMatchObject({ channels: 2, speakers: { count: 2, model: 'channels' } });
    expect(new Set(speakers)).toEqual(new Set(['A', 'B']));
  });

  it('are looked for as the account says, unless the upload says something else', async () => {
    const setting = (speakers: unknown) => client.put('/v1/account/speakers', { speakers });
    expect((await client.get('/v1/account/speakers').expect(200)).body).toEqual({
      speakers: null,
      uri: '/v1/account/speakers',
    });
    expect((await setting(3).expect(200)).body).toEqual({ speakers: 3, uri: '/v1/account/speakers' });
    expect((await transcribed({ language: 'english' })).speakers).toEqual(['A', 'B', 'A']);
    expect((await transcribed({ language: 'english', speakers: 'auto' })).speakers).toEqual(['A', 'B', 'A']);
    expect((await transcribed({ language: 'english', diarize: 'false' })).features).not.toHaveProperty('speakers');
    expect(asked.map(({ speakers }) => speakers)).toEqual([3, 0, undefined]);
    await setting('auto').expect(200);
    expect((await client.get('/v1/account/speakers').expect(200)).body).toMatchObject({ speakers: 'auto' });
    await setting(null).expect(200);
    expect((await transcribed({ language: 'english' })).features).not.toHaveProperty('speakers');
    for (const wrong of [0, 21, 1.5, '2', 'Auto', true]) {
      expectInvalid(await setting(wrong), 'speakers', /auto or an integer from 1 to 20, or null/);
    }
  });

  it('keep their labels and their names when a recording is transcribed again', async () => {
    const { id, speakers } = await transcribed({ language: 'english', speakers: 'auto' });
    expect(speakers).toEqual(['A', 'B', 'A']);
    await service.database.query(`UPDATE recordings SET speaker_names = '{"A":"Ada"}' WHERE id = $1`, [id]);
    expect((await again(id, { language: 'german' })).speakers).toEqual(['B', 'A']);
    expect((await again(id, { language: 'dutch' })).speakers).toEqual(['B', 'A', 'C']);
    const [row] = await service.database.query('SELECT speaker_names AS names FROM recordings WHERE id = $1', [id]);
    expect(row).toEqual({ names: { A: 'Ada' } });
  });

  it('are looked for in another run, or no more, as the client says', async () => {
    const { id } = await transcribed({ language: 'english' });
    expect((await again(id, { speakers: 2 })).speakers).toEqual(['A', 'B', 'A']);
    expect((await again(id, {})).features).toMatchObject({ speakers: { count: 2 } });
    expect((await again(id, { speakers: null })).features).not.toHaveProperty('speakers');
    expect(asked.map((options) => options.speakers)).toEqual([undefined, 2, 2, undefined]);
    const path = `/v1/recordings/${id}/transcribe`;
    expectInvalid(await client.post(path, { speakers: 'two' }), 'speakers', /auto or an integer from 1 to 20, or null/);
  });

  it('are told apart for one upload in one way: the same upload with another number is another', async () => {
    const send = (speakers: string) => client.upload(AUDIO, { speakers }).set('Idempotency-Key', 'a');
    await send('2').expect(201);
    expect((await send('2').expect(201)).headers['idempotent-replayed']).toBe('true');
    await send('3').expect(409);
    expectInvalid(await client.upload(AUDIO, { speakers: '0' }), 'speakers', /auto or an integer from 1 to 20/);
    expectInvalid(await client.upload(AUDIO, { diarize: 'yes' }), 'diarize', /true or false/);
    expectInvalid(await client.upload(AUDIO, { diarize: 'false', speakers: '2' }), 'diarize', /together with speakers/);
    const link = { url: 'https://files.example.com/a.ogg' };
    expectInvalid(await client.post('/v1/recordings', { ...link, speakers: 21 }), 'speakers', /from 1 to 20/);
    expectInvalid(await client.post('/v1/recordings', { ...link, diarize: 1 }), 'diarize', /text/);
  });
});
