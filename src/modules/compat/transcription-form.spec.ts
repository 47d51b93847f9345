import { promptTerms } from '../../platform/vocabulary.js';
import { TranscriptionFormFields, type TranscriptionOptions } from './transcription-form.js';

function read(...fields: [name: string, value: string | undefined][]): TranscriptionOptions {
  const form = new TranscriptionFormFields();
  for (const [name, value] of fields) {
    const refusal = form.add({ name, value, isTruncated: false });
    if (refusal) throw refusal;
  }
  return form.read();
}

describe('TranscriptionFormFields', () => {
  it('has defaults for everything', () => {
    expect(read()).toEqual({
      task: 'transcribe',
      languages: [],
      include: [],
      language: undefined,
      prompt: '',
      vocabulary: [],
      format: 'json',
      granularities: [],
      speakers: undefined,
      stream: false,
    });
  });

  it('asks for speakers where they are shown, and for as many as are given', () => {
    const details = (...fields: [string, string][]) => {
      const form = new TranscriptionFormFields();
      for (const [name, value] of fields) form.add({ name, value, isTruncated: false });
      return (form.details() as { speakers?: string }).speakers;
    };
    expect(details(['response_format', 'diarized_json'])).toBe('auto');
    expect(details(['response_format', 'diarized_json'], ['speakers', '3'])).toBe('3');
    expect(details(['speakers', '2'])).toBe('2');
    expect(details(['response_format', 'verbose_json'])).toBeUndefined();
    const translation = new TranscriptionFormFields('translate');
    translation.add({ name: 'response_format', value: 'diarized_json', isTruncated: false });
    expect(() => translation.read()).toThrow(/must be one of json, text, srt, vtt, verbose_json\.$/);
  });

  it.each([
    ['en', 'english'],
    ['de-AT', 'german'],
    ['yue', 'cantonese'],
    ['German', 'german'],
    ['', undefined],
    ['auto', undefined],
  ])('reads the language %j', (code, name) => {
    expect(read(['language', code]).language).toBe(name);
  });

  it.each([['timestamp_granularities'], ['timestamp_granularities[]'], ['timestamp_granularities[1]']])(
    'reads %s, repeated or in one text',
    (name) => {
      expect(read([name, 'word'], [name, 'segment']).granularities).toEqual(['word', 'segment']);
      expect(read([name, 'word,segment']).granularities).toEqual(['word', 'segment']);
    },
  );

  it('reads languages by code or name, each once, and keywords before the terms of the prompt', () => {
    const form = read(
      ['languages[]', 'de'],
      ['languages[1]', ''],
      ['languages', 'en-US,German'],
      ['languages[]', 'auto'],
    );
    expect(form.languages).toEqual(['german', 'english']);
    const { vocabulary } = read(['keywords[]', ' Grafana '], ['prompt', 'Zoë'], ['keywords', 'a,,b,grafana']);
    expect(vocabulary).toEqual(['Grafana', 'a', 'b', 'Zoë']);
    const many = Array.from({ length: 100 }, (_, i): [string, string] => ['keywords[]', `k${i}`]);
    expect(read(...many, ['prompt', 'Zoë']).vocabulary).toHaveLength(100);
    expect(read(['include[]', 'logprobs']).include).toEqual(['logprobs']);
  });

  it.each([
    [''],
    ['auto'],
    ['{"type":"server_vad"}'],
    ['{"type":"server_vad","threshold":0.5,"prefix_padding_ms":0,"silence_duration_ms":500}'],
  ])('takes the chunking strategy %s', (text) => {
    expect(() => read(['chunking_strategy', text])).not.toThrow();
  });

  const NO_STRATEGY = /^chunking_strategy must be auto, or an object of type server_vad\.$/;

  it.each<[[string, string][], RegExp]>([
    [[['chunking_strategy', 'manual']], NO_STRATEGY],
    [[['chunking_strategy', 'null']], NO_STRATEGY],
    [[['chunking_strategy', '[]']], NO_STRATEGY],
    [[['chunking_strategy', '{}']], NO_STRATEGY],
    [[['chunking_strategy[threshold]', '0.5']], NO_STRATEGY],
    [[['chunking_strategy', '{"type":"server_vad","threshold":1.5}']], /unknown setting: threshold\.$/],
    [[['chunking_strategy', '{"type":"server_vad","silence_duration_ms":0.5}']], /setting: silence_duration_ms\.$/],
    [[['chunking_strategy', '{"type":"server_vad","constructor":1}']], /setting: constructor\.$/],
    [[['chunking_strategy', '{"type":"server_vad","a b":1}']], /setting: \(a name\)\.$/],
    [
      [
        ['chunking_strategy[type]', 'server_vad'],
        ['chunking_strategy[prefix_padding_ms]', 'x'],
      ],
      /setting: prefix_padding_ms\.$/,
    ],
  ])('refuses the chunking strategy %j', (fields, message) => {
    expect(() => read(...fields)).toThrow(message);
  });

  it('reads of a translation only what OpenAI takes there', () => {
    const form = new TranscriptionFormFields('translate');
    const fields = { language: 'xx', 'include[]': 'usage', stream: 'yes', prompt: 'Zoë', response_format: 'text' };
    for (const [name, value] of Object.entries(fields)) {
      expect(form.add({ name, value, isTruncated: false })).toBeNull();
    }
    expect(form.read()).toMatchObject({ task: 'translate', language: undefined, stream: false, format: 'text' });
    expect(form.details()).toEqual({ vocabulary: '["Zoë"]', task: 'translate' });
  });

  it.each([
    ['true', true],
    ['True', true],
    ['1', true],
    ['false', false],
    ['0', false],
  ])('reads stream=%s', (text, stream) => {
    expect(read(['stream', text]).stream).toBe(stream);
  });

  it.each<[[string, string | undefined][], RegExp]>([
    [
      [['response_format', 'xml']],
      /^response_format must be one of json, text, srt, vtt, verbose_json, diarized_json\.$/,
    ],
    [
      [
        ['known_speaker_names[]', 'agent'],
        ['response_format', 'diarized_json'],
      ],
      /^known_speaker_names cannot be used: leave it out, and name the speakers with PUT/,
    ],
    [
      [
        ['response_format', 'diarized_json'],
        ['known_speaker_references[0]', 'data:audio/wav;base64,AAAA'],
      ],
      /^known_speaker_references cannot be used/,
    ],
    [[['timestamp_granularities[]', 'sentence']], /^timestamp_granularities must be one of word, segment\.$/],
    [[['stream', 'yes']], /^stream must be one of/],
    [[['language', 'xx']], /^language must be the ISO 639 code/],
    [
      [
        ['prompt', 'a'],
        ['prompt', 'b'],
      ],
      /^prompt may be given only once/,
    ],
    [[['model', undefined]], /^model must be text in UTF-8/],
  ])('refuses %j', (fields, message) => {
    expect(() => read(...fields)).toThrow(message);
  });

  it('ignores other fields, also when they are too long or not in UTF-8', () => {
    const form = new TranscriptionFormFields();
    for (const name of ['known_speaker_names[]', 'known_speaker_references[]', '__proto__', undefined]) {
      expect(form.add({ name, value: undefined, isTruncated: true })).toBeNull();
    }
    expect(form.add({ name: 'prompt', value: 'x', isTruncated: true })?.message).toMatch(/at most 16384 bytes/);
  });
});

describe('promptTerms', () => {
  it.each([
    ['', []],
    ['Kubernetes, Grafana', ['Kubernetes', 'Grafana']],
    ['Kubernetes\nGrafana\r\n- New York', ['Kubernetes', 'Grafana', 'New York']],
    ['Glossary: Aimee, Shawn, BBQ.', ['Aimee', 'Shawn', 'BBQ']],
    ['クーバネティス、グラファナ', ['クーバネティス', 'グラファナ']],
    ['"ZyntriQix"; (B.R.I.C.K.) ; QuirkQuid Quill Inc.', ['ZyntriQix', 'B.R.I.C.K.', 'QuirkQuid Quill Inc']],
    ['kubernetes, KUBERNETES', ['kubernetes']],
    [
      'The following is a talk by Zoë Miller about GPT-4 and New York. She likes it very much indeed.',
      ['Zoë Miller', 'GPT-4', 'New York'],
    ],
    ['um, so, like, you know what I mean by that', ['um', 'so', 'like', 'I']],
    ['a\u0000b\ud800, ---, c\u0007', ['a b\ufffd', 'c']],
  ])('%j names %j', (prompt, terms) => {
    expect(promptTerms(prompt)).toEqual(terms);
  });

  it('takes any text without an error, and at most 100 terms of at most 64 characters', () => {
    const many = promptTerms(Array.from({ length: 500 }, (_, i) => `term ${i}`).join(','));
    expect(many).toHaveLength(100);
    expect(promptTerms('x'.repeat(16_384))).toEqual([]);
    expect(promptTerms(', '.repeat(8000))).toEqual([]);
    expect(promptTerms('A '.repeat(8000))).toEqual([]);
  });

  it('takes time in proportion to the length, whatever the marks', () => {
    for (const mark of ['"', ' ', '.', ',', ': ', '" ', '. .']) {
      const prompt = `${'x'.repeat(10)}${mark.repeat(400_000 / mark.length)}x`;
      const before = process.cpuUsage();
      promptTerms(prompt);
      const { user } = process.cpuUsage(before);
      // Quadratic: over a minute.
      expect(user).toBeLessThan(2_000_000);
    }
  });
});
