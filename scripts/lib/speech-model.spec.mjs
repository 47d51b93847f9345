import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startOptions, usesModel, withModel } from './speech-model.mjs';

describe('startOptions', () => {
  test.each([
    [[], null],
    [['--model', 'whisper-small'], 'whisper-small'],
    [['--model=whisper-small.en'], 'whisper-small.en'],
  ])('%j chooses %s', (args, model) => expect(startOptions(args)).toEqual({ model, help: false }));

  test('--help asks for help', () => expect(startOptions(['--help'])).toEqual({ model: null, help: true }));

  test.each([
    [['--model'], '--model needs the name of a model'],
    [['--model', '../x'], '--model needs the name of a model'],
    [['whisper-small'], 'Unknown argument: whisper-small'],
    [['--model', 'a', '--now'], 'Unknown argument: --now'],
  ])('%j is refused', (args, message) => expect(() => startOptions(args)).toThrow(message));
});

describe('usesModel', () => {
  let folder;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'voice-notes-selected-'));
    writeFileSync(join(folder, 'selected'), 'whisper-small\n');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ['a chosen model, whatever is set', withModel({ TRANSCRIPTION_ENGINE: 'openai', OPENAI_API_KEY: 'x' }, 'a'), true],
    ['none chosen', withModel({ MODELS_FOLDER: tmpdir() }, null), false],
    ['the engine by name', { TRANSCRIPTION_ENGINE: 'sherpa' }, true],
    ['another engine', { TRANSCRIPTION_ENGINE: 'pocketsphinx', SHERPA_MODEL: 'a' }, false],
    ['a server, which auto takes first', { SHERPA_MODEL: 'a', OPENAI_BASE_URL: 'http://localhost' }, false],
  ])('%s', (_, env, expected) => expect(usesModel(env)).toBe(expected));

  test('a selected model', () => expect(usesModel({ MODELS_FOLDER: folder })).toBe(true));
});
