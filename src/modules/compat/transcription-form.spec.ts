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
      language: undefined,
      prompt: '',
      vocabulary: [],
      format: 'json',
      granularities: [],
      stream: false,
    });
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
    [[['response_format', 'diarized_json']], /^response_format must be one of json, text, srt, vtt, verbose_json\.$/],
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
    for (const name of ['include[]', 'chunking_strategy', 'known_speaker_references[]', '__proto__', undefined]) {
      expect(form.add({ name, value: undefined, isTruncated: true })).toBeNull();
    }
    expect(form.add({ name: 'prompt', value: 'x', isTruncated: true })?.message).toMatch(/at most 16384 bytes/);
  });
});
