import { Logger } from '@nestjs/common';
import { readEnv } from '../../../platform/config/env.js';
import { ModelError } from '../../models/model-folder.js';
import type { EngineRuntimesService } from '../engines/engine-runtimes.service.js';
import { EngineUnavailableError } from '../engines/transcription-engine.js';
import type { SpeechDetectionService } from '../speech/speech-detection.service.js';
import { LiveRecognitionService, type LiveSpeech, NoLiveWordsError } from './live-recognition.service.js';
import type { StreamingModel } from './streaming-model.js';

/** Languages of the streaming model of sherpa; null without one. */
let streaming: readonly string[] | ModelError | null;
/** Of a streaming engine: why it cannot be used. */
let problems: Record<string, string> = {};

jest.mock('../engines/sherpa/sherpa-streaming.js', () => ({
  sherpaStreamingModel: () => {
    if (streaming instanceof Error) throw streaming;
    return streaming && { provider: 'sherpa', languages: streaming };
  },
}));
jest.mock('./streaming-engine.js', () => ({
  StreamingEngine: class {
    readonly name = this.model.provider;
    constructor(private readonly model: StreamingModel) {}
    speaks = (languages: readonly string[]) => languages.every((each) => this.model.languages.includes(each));
    open = async () => {
      const problem = problems[this.name];
      if (problem !== undefined) throw new EngineUnavailableError(problem);
      return { provider: `streaming ${this.name}` };
    };
  },
}));

/** @param engines those of the process, the account's first */
function serviceFor(liveEngine: string, engines: readonly string[], detectsLanguage = false): LiveRecognitionService {
  const env = readEnv({
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://unused',
    REDIS_URL: 'redis://unused',
    SECRET_KEY: 'k'.repeat(32),
    LIVE_ENGINE: liveEngine,
  });
  const runtimes = {
    route: (_audio: unknown, _own: unknown, requested: string | null) => ({
      choices: engines.filter((name) => requested === null || name === requested).map((name) => ({ name })),
    }),
    runtime: (name: string) => ({
      engine: { name, model: 'model', detectsLanguage },
      maxChunkSeconds: 20,
      problem: async () => null,
      queue: { join: () => ({}) },
    }),
  } as unknown as EngineRuntimesService;
  return new LiveRecognitionService(env, runtimes, {} as SpeechDetectionService);
}

const speechIn = (language: string | null, languages: readonly string[] | null = null): LiveSpeech => ({
  accountId: 'a',
  accountEngines: null,
  language,
  languages,
});

const providerFor = async (service: LiveRecognitionService, speech: LiveSpeech): Promise<string> =>
  (await service.open(speech)).provider;

describe('LiveRecognitionService', () => {
  beforeAll(() => Logger.overrideLogger(false));
  afterAll(() => Logger.overrideLogger(true));
  beforeEach(() => {
    streaming = null;
    problems = {};
  });

  it.each([
    ['auto', null, 'english', 'streaming pocketsphinx'],
    ['auto', null, null, 'streaming pocketsphinx'],
    ['auto', null, 'german', 'openai'],
    ['auto', ['german'], 'german', 'streaming sherpa'],
    ['auto', ['german'], 'english', 'streaming pocketsphinx'],
    ['auto', ['german'], 'french', 'openai'],
    ['auto', ['german', 'english'], 'english', 'streaming sherpa'],
    ['auto', ['german'], null, 'streaming sherpa'],
    ['pocketsphinx', ['english'], 'english', 'streaming pocketsphinx'],
    ['pocketsphinx', ['english'], 'german', 'openai'],
    ['sherpa', ['german'], 'german', 'streaming sherpa'],
    ['sherpa', ['german'], null, 'streaming sherpa'],
    ['sherpa', ['german'], 'english', 'sherpa'],
    ['sherpa', null, 'english', 'sherpa'],
    ['openai', ['english'], 'english', 'openai'],
  ])('%s with a streaming model for %j recognises %s by %s', async (liveEngine, languages, language, provider) => {
    streaming = languages;
    expect(await providerFor(serviceFor(liveEngine, ['openai', 'sherpa']), speechIn(language))).toBe(provider);
  });

  it('streams several languages only with a model that has them all', async () => {
    streaming = ['german', 'english'];
    const service = serviceFor('auto', ['openai']);
    expect(await providerFor(service, speechIn(null, ['german', 'english']))).toBe('streaming sherpa');
    expect(await providerFor(service, speechIn(null, ['german', 'french']))).toBe('openai');
  });

  it("leaves an unknown language to an account's engine that detects it, unless an engine is named", async () => {
    streaming = ['german'];
    expect(await providerFor(serviceFor('auto', ['openai'], true), speechIn(null))).toBe('openai');
    expect(await providerFor(serviceFor('sherpa', ['openai'], true), speechIn(null))).toBe('streaming sherpa');
  });

  it('takes the next engine while one cannot be used, and says that it may come back where there is no other', async () => {
    streaming = ['german', 'english'];
    problems = { sherpa: 'full' };
    const service = serviceFor('auto', ['openai']);
    expect(await providerFor(service, speechIn('english'))).toBe('streaming pocketsphinx');
    expect(await providerFor(service, speechIn('german'))).toBe('openai');
    await expect(serviceFor('auto', []).open(speechIn('german'))).rejects.toThrow(new EngineUnavailableError('full'));
    await expect(serviceFor('auto', []).open(speechIn('french'))).rejects.toThrow(NoLiveWordsError);
  });

  it('works without a streaming model that is broken', async () => {
    streaming = new ModelError('broken');
    expect(await providerFor(serviceFor('auto', ['openai']), speechIn('english'))).toBe('streaming pocketsphinx');
    expect(await providerFor(serviceFor('sherpa', ['sherpa']), speechIn('english'))).toBe('sherpa');
  });
});
