import { readEnv } from '../../../platform/config/env.js';
import { selectEngine } from './engine-registry.js';
import type { EngineDefinition, TranscriptionEngine } from './transcription-engine.js';
import { selectEngines } from './engine-registry.js';

const REQUIRED = {
  NODE_ENV: 'test',
  DATABASE_URL: 'postgres://unused',
  REDIS_URL: 'redis://unused',
  SECRET_KEY: 'k'.repeat(32),
  MODELS_FOLDER: '/nowhere',
};

const ADDED: EngineDefinition = { name: 'added', create: () => ({}) as TranscriptionEngine };

const select = (variables: NodeJS.ProcessEnv, ...added: EngineDefinition[]): string =>
  selectEngine(readEnv({ ...REQUIRED, ...variables }), added).name;

describe('selectEngine', () => {
  it.each([
    [{}, 'pocketsphinx'],
    [{ TRANSCRIPTION_ENGINE: 'auto' }, 'pocketsphinx'],
    [{ OPENAI_API_KEY: 'x' }, 'openai'],
    [{ OPENAI_BASE_URL: 'http://localhost:8080/v1' }, 'openai'],
    [{ OPENAI_API_KEY: 'x', TRANSCRIPTION_ENGINE: 'pocketsphinx' }, 'pocketsphinx'],
    [{ SHERPA_MODEL: 'whisper-small' }, 'sherpa'],
    [{ SHERPA_MODEL: 'whisper-small', OPENAI_API_KEY: 'x' }, 'openai'],
    [{ TRANSCRIPTION_ENGINE: 'added' }, 'added'],
  ])('%j selects %s', (variables, name) => {
    expect(select(variables, ADDED)).toBe(name);
  });

  it('lets auto select an engine of an extension that is configured, before those of the core', () => {
    expect(select({ OPENAI_API_KEY: 'x' }, { ...ADDED, isConfigured: () => true })).toBe('added');
    expect(select({ OPENAI_API_KEY: 'x' }, { ...ADDED, isConfigured: () => false })).toBe('openai');
  });

  it('refuses an unknown name and lists the known ones', () => {
    expect(() => select({ TRANSCRIPTION_ENGINE: 'whisper' }, ADDED)).toThrow(
      'Invalid environment variables:\n  TRANSCRIPTION_ENGINE must be one of auto, added, openai, sherpa, pocketsphinx',
    );
  });

  it('refuses an engine without its variables and names them', () => {
    expect(() => select({ TRANSCRIPTION_ENGINE: 'openai' })).toThrow(
      'Invalid environment variables:\n  TRANSCRIPTION_ENGINE=openai requires OPENAI_BASE_URL or OPENAI_API_KEY',
    );
  });

  it('refuses an engine without its configuration, whether it names variables or not', () => {
    const added = { ...ADDED, isConfigured: () => false };
    expect(() => select({ TRANSCRIPTION_ENGINE: 'added' }, added)).toThrow(
      'TRANSCRIPTION_ENGINE=added requires configuration',
    );
  });

  it.each(['auto', 'openai'])('refuses a second engine named %s', (name) => {
    expect(() => select({}, { ...ADDED, name })).toThrow(`Transcription engine name already taken: ${name}`);
  });
});

const create = () => ({}) as TranscriptionEngine;
const NAMED: EngineDefinition = { name: 'named', create };
const CONFIGURED: EngineDefinition = { name: 'configured', create, isConfigured: () => true };

function selectAll(engine: string, variables: NodeJS.ProcessEnv = {}, ...added: EngineDefinition[]) {
  const env = readEnv({ ...REQUIRED, TRANSCRIPTION_ENGINE: engine, ...variables });
  const { chain, definitions } = selectEngines(env, added);
  return { chain, names: definitions.map(({ name }) => name) };
}

describe('selectEngines', () => {
  it('has the engines of the chain, and after them every other that is configured', () => {
    expect(selectAll('pocketsphinx', {}, NAMED, CONFIGURED)).toEqual({
      chain: [{ name: 'pocketsphinx' }],
      names: ['pocketsphinx', 'configured'],
    });
    expect(selectAll('named', {}, NAMED)).toEqual({ chain: [{ name: 'named' }], names: ['named', 'pocketsphinx'] });
  });

  it('keeps order and conditions, and names what auto stands for', () => {
    const list = '[{"name":"openai","languages":["german"],"max_seconds":60},"auto"]';
    expect(selectAll(list, { OPENAI_API_KEY: 'x' }, CONFIGURED)).toEqual({
      chain: [{ name: 'openai', languages: ['german'], maxSeconds: 60 }, { name: 'configured' }],
      names: ['openai', 'configured', 'pocketsphinx'],
    });
  });

  it('lets LIVE_ENGINE name an engine of the process, or sherpa for its streaming model', () => {
    for (const LIVE_ENGINE of ['off', 'auto', 'pocketsphinx']) selectAll('auto', { LIVE_ENGINE });
    selectAll('auto', { LIVE_ENGINE: 'sherpa', LIVE_MODEL: 'streaming' });
    selectAll('auto', { LIVE_ENGINE: 'sherpa', SHERPA_MODEL: 'whisper-small', LIVE_MODEL: 'streaming' });
    expect(() => selectAll('auto', { LIVE_ENGINE: 'sherpa' })).toThrow(
      'LIVE_ENGINE must be one of auto, off, pocketsphinx',
    );
  });

  it.each([
    ['openai,unknown', /TRANSCRIPTION_ENGINE must be one of auto, openai, .*pocketsphinx/],
    ['pocketsphinx,openai', /TRANSCRIPTION_ENGINE=openai requires OPENAI_BASE_URL or OPENAI_API_KEY/],
    ['[', /TRANSCRIPTION_ENGINE must be names separated by commas, or a JSON list/],
    ['openai,', /TRANSCRIPTION_ENGINE must give each engine a name/],
  ])('refuses %s', (engine, message) => {
    expect(() => selectAll(engine, engine === 'pocketsphinx,openai' ? {} : { OPENAI_API_KEY: 'x' })).toThrow(message);
  });
});
