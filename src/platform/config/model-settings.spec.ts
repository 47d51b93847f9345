import { modelSettings, proxyText } from './model-settings.js';

describe('modelSettings', () => {
  it('needs no other variable', () => {
    expect(modelSettings({})).toEqual({
      modelsFolder: './.data/models',
      modelsUrl: 'https://huggingface.co',
      hfToken: null,
    });
    expect(modelSettings({ MODELS_FOLDER: '/m', MODELS_URL: 'http://mirror', HF_TOKEN: 'hf_x' })).toEqual({
      modelsFolder: '/m',
      modelsUrl: 'http://mirror',
      hfToken: 'hf_x',
    });
  });

  it('names what is wrong', () => {
    expect(() => modelSettings({ MODELS_URL: 'mirror' })).toThrow('MODELS_URL must be a URL that starts with https://');
  });
});

describe('proxyText', () => {
  it.each([
    [{}, 'None is set now.'],
    [{ HTTPS_PROXY: '' }, 'None is set now.'],
    [{ HTTPS_PROXY: 'http://user:secret@proxy:3128/' }, 'Set now: HTTPS_PROXY=http://proxy:3128.'],
    [{ HTTP_PROXY: 'proxy:3128' }, 'Set now: HTTP_PROXY=(not a URL).'],
    [{ HTTP_PROXY: 'user secret' }, 'Set now: HTTP_PROXY=(not a URL).'],
    [
      { https_proxy: 'http://small:1', HTTPS_PROXY: 'http://large:1', NO_PROXY: 'localhost,.example.com' },
      'Set now: HTTPS_PROXY=http://small:1, NO_PROXY=localhost,.example.com.',
    ],
  ])('%j: %s', (source, text) => expect(proxyText(source)).toBe(text));
});
