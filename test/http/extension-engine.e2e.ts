import { Module } from '@nestjs/common';
import type { EngineDefinition } from '../../src/modules/transcriptions/engines/transcription-engine.js';
import { type Ground, prepareGround, type Service, startService } from '../support/service/service.js';
import { SERVICE_TIMEOUT } from '../support/service/timeouts.js';

jest.setTimeout(SERVICE_TIMEOUT);

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

describe('an engine of an extension', () => {
  let ground: Ground;
  let service: Service | undefined;

  beforeAll(async () => {
    ground = await prepareGround();
  });

  afterEach(async () => {
    await service?.close();
    service = undefined;
  });

  afterAll(() => ground.clear());

  const start = async (engine: string): Promise<Service> =>
    (service = await startService(ground, { TRANSCRIPTION_ENGINE: engine }, [
      { module: EngineModule, engines: [fixedEngine] },
    ]));

  it('transcribes recordings when TRANSCRIPTION_ENGINE names it', async () => {
    const caller = await (await start('fixed')).account();
    const { body } = await caller.upload('go-forward-ten-meters.wav', { language: 'german' }).expect(201);
    expect(await caller.finished(body.id)).toMatchObject({ status: 'transcribed' });
    const { body: transcription } = await caller.get(`/v1/recordings/${body.id}/transcription`).expect(200);
    expect(transcription).toMatchObject({
      text: 'in german',
      confidence: 0.75,
      language: 'german',
      provider: 'fixed',
      model: 'fixed-1',
    });
  });

  it.each(['worker', 'api'])('is among the known names when another one is unknown, in the role %s', async (role) => {
    const overrides = { ROLES: role, TRANSCRIPTION_ENGINE: 'unknown' };
    const extensions = [{ module: EngineModule, engines: [fixedEngine] }];
    await expect(startService(ground, overrides, extensions)).rejects.toThrow(
      'Invalid environment variables:\n  TRANSCRIPTION_ENGINE must be one of auto, fixed, openai, pocketsphinx',
    );
  });
});
