import { Module } from '@nestjs/common';
import type { EngineDefinition } from '../../../src/modules/transcriptions/engines/transcription-engine.js';
import { useEnvironment } from '../../../src/testing/test-environment.js';
import { startService } from '../../../src/testing/test-service.js';

@Module({})
class EngineModule {}

/** Returns the requested language as the text of each chunk. */
const fixedEngine: EngineDefinition = {
  name: 'fixed',
  create: () => ({
    name: 'fixed',
    model: 'fixed-1',
    languages: ['english', 'german'],
    defaultLanguage: 'english',
    maxChunkSeconds: 60,
    concurrency: 1,
    transcribe: async (_, { language }) => ({
      text: `in ${language}`,
      confidence: 0.75,
      language: language ?? 'english',
      words: [],
    }),
    problem: async () => null,
    close: async () => undefined,
  }),
};

/** Reports words without capitals and punctuation, and is surer of them than it should be. */
const overconfidentEngine: EngineDefinition = {
  name: 'overconfident',
  create: (env) => ({
    ...fixedEngine.create(env),
    name: 'overconfident',
    calibration: {
      points: [
        [0, 0.1],
        [1, 0.6],
      ],
      date: '2026-11-22',
      data: 'none',
    },
    transcribe: async () => ({
      text: 'go forward now then i stop',
      confidence: 1,
      language: 'english',
      words: ['go', 'forward', 'now', 'then', 'i', 'stop'].map((word, index) => {
        // A pause after the third word.
        const start = 0.2 * index + (index < 3 ? 0 : 0.75);
        return { word, start, end: start + 0.2, confidence: index < 3 ? 1 : 0.6 };
      }),
    }),
  }),
};

const extensions = [{ module: EngineModule, engines: [fixedEngine, overconfidentEngine] }];

describe('an engine of an extension', () => {
  const environment = useEnvironment(extensions);

  it('transcribes recordings when TRANSCRIPTION_ENGINE names it', async () => {
    const service = await startService(environment, { TRANSCRIPTION_ENGINE: 'fixed' }, extensions);
    const client = await service.account();
    const { body } = await client.upload('go-forward-ten-meters.wav', { language: 'german' }).expect(201);
    expect(await client.finished(body.id)).toMatchObject({ status: 'transcribed' });
    const { body: transcription } = await client.get(`/v1/recordings/${body.id}/transcription`).expect(200);
    expect(transcription).toMatchObject({
      text: 'in german',
      confidence: 0.75,
      language: 'german',
      provider: 'fixed',
      model: 'fixed-1',
    });
    // Its worker would take the recordings of the next test.
    await service.close();
  });

  it('has its confidences mapped to what they are worth, and its text punctuated where that is set', async () => {
    const variables = { TRANSCRIPTION_ENGINE: 'overconfident', ADD_PUNCTUATION: 'true' };
    const service = await startService(environment, variables, extensions);
    const client = await service.account();
    const { body } = await client.upload('go-forward-ten-meters.wav').expect(201);
    const { features } = await client.finished(body.id);
    expect(features).toEqual({ speech_seconds: expect.any(Number), no_speech: false, punctuation: 'added' });
    const { body: transcription } = await client.get(`/v1/recordings/${body.id}/transcription`).expect(200);
    expect(transcription).toMatchObject({ text: 'Go forward now. Then I stop.', confidence: 0.5 });
    const words = JSON.parse(transcription.words) as { word: string; confidence: number }[];
    expect(words.map(({ word }) => word)).toEqual(['go', 'forward', 'now', 'then', 'i', 'stop']);
    expect(words.map(({ confidence }) => confidence)).toEqual([0.6, 0.6, 0.6, 0.4, 0.4, 0.4]);
  });

  it.each(['worker', 'api'])('is among the known names when another one is unknown, in the role %s', async (role) => {
    const variables = { ROLES: role, TRANSCRIPTION_ENGINE: 'unknown' };
    await expect(startService(environment, variables, extensions)).rejects.toThrow(
      /TRANSCRIPTION_ENGINE must be one of auto, .*\bfixed, overconfident, openai, sherpa, pocketsphinx/,
    );
  });
});
