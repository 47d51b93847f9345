import { tmpdir } from 'node:os';

import { neededPackages } from './system-packages.mjs';

describe('neededPackages', () => {
  const names = (env) => neededPackages({ MODELS_FOLDER: tmpdir(), ...env }).map(({ name }) => name.split(' ')[0]);

  test.each([
    ['a plain start', {}, ['redis-server', 'ffmpeg', 'PocketSphinx']],
    ['an existing Redis', { REDIS_URL: 'redis://localhost' }, ['ffmpeg', 'PocketSphinx']],
    ['a transcription server', { OPENAI_BASE_URL: 'http://localhost:8080/v1' }, ['redis-server', 'ffmpeg']],
    ['a model of speech recognition', { SHERPA_MODEL: 'whisper-small' }, ['redis-server', 'ffmpeg']],
    ['a hosted engine', { TRANSCRIPTION_ENGINE: 'openai' }, ['redis-server', 'ffmpeg']],
    ['an engine of an extension', { TRANSCRIPTION_ENGINE: 'whisper' }, ['redis-server', 'ffmpeg']],
    [
      'PocketSphinx by name',
      { OPENAI_API_KEY: 'x', TRANSCRIPTION_ENGINE: 'pocketsphinx' },
      ['redis-server', 'ffmpeg', 'PocketSphinx'],
    ],
    [
      'PocketSphinx as the second of a chain',
      { OPENAI_API_KEY: 'x', TRANSCRIPTION_ENGINE: 'openai, pocketsphinx' },
      ['redis-server', 'ffmpeg', 'PocketSphinx'],
    ],
    ['an API without a worker', { ROLES: 'api' }, ['redis-server']],
  ])('%s', (_, env, expected) => {
    expect(names(env)).toEqual(expected);
  });
});
