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

const extensions = [{ module: EngineModule, engines: [fixedEngine] }];

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
  });

  it.each(['worker', 'api'])('is among the known names when another one is unknown, in the role %s', async (role) => {
    const variables = { ROLES: role, TRANSCRIPTION_ENGINE: 'unknown' };
    await expect(startService(environment, variables, extensions)).rejects.toThrow(
      'Invalid environment variables:\n  TRANSCRIPTION_ENGINE must be one of auto, fixed, openai, sherpa, pocketsphinx',
    );
  });
});
