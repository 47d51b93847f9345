import { readEnv } from '../../../../platform/config/env.js';
import type { EngineDefinition, TranscriptionEngine } from '../transcription-engine.js';
import { selectEngines } from './engine-selection.js';

const REQUIRED = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  SECRET_KEY: 'k'.repeat(32),
  // A model that is selected there would be another configured engine.
  MODELS_FOLDER: '/nonexistent',
};

const create = () => ({}) as TranscriptionEngine;
const NAMED: EngineDefinition = { name: 'named', create };
const CONFIGURED: EngineDefinition = { name: 'configured', create, isConfigured: () => true };

function select(engine: string, variables: NodeJS.ProcessEnv = {}, ...added: EngineDefinition[]) {
  const env = readEnv({ ...REQUIRED, TRANSCRIPTION_ENGINE: engine, ...variables });
  const { chain, definitions } = selectEngines(env, added);
  return { chain, names: definitions.map(({ name }) => name) };
}

describe('selectEngines', () => {
  it('has the engines of the chain, and after them every other that is configured', () => {
    expect(select('pocketsphinx', {}, NAMED, CONFIGURED)).toEqual({
      chain: [{ name: 'pocketsphinx' }],
      names: ['pocketsphinx', 'configured'],
    });
    expect(select('named', {}, NAMED)).toEqual({ chain: [{ name: 'named' }], names: ['named', 'pocketsphinx'] });
  });

  it('keeps order and conditions, and names what auto stands for', () => {
    const list = '[{"name":"openai","languages":["german"],"max_seconds":60},"auto"]';
    expect(select(list, { OPENAI_API_KEY: 'x' }, CONFIGURED)).toEqual({
      chain: [{ name: 'openai', languages: ['german'], maxSeconds: 60 }, { name: 'configured' }],
      names: ['openai', 'configured', 'pocketsphinx'],
    });
  });

  it.each([
    ['openai,unknown', /TRANSCRIPTION_ENGINE must be one of auto, openai, .*pocketsphinx/],
    ['pocketsphinx,openai', /TRANSCRIPTION_ENGINE=openai requires OPENAI_BASE_URL or OPENAI_API_KEY/],
    ['[', /TRANSCRIPTION_ENGINE must be names separated by commas, or a JSON list/],
    ['openai,', /TRANSCRIPTION_ENGINE must give each engine a name/],
  ])('refuses %s', (engine, message) => {
    expect(() => select(engine, engine === 'pocketsphinx,openai' ? {} : { OPENAI_API_KEY: 'x' })).toThrow(message);
  });
});
