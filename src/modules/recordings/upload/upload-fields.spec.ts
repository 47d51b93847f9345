import { InvalidRequestError } from '../../../platform/errors/errors.js';
import { NO_SPEAKERS } from '../../../platform/speakers.js';
import {
  readCustomTags,
  readIdempotencyKey,
  readRetention,
  readSeparateChannels,
  readSpeakers,
  readSpokenLanguages,
  readUploadSource,
  readVocabulary,
  UploadFields,
} from './upload-fields.js';

const detailsOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidRequestError);
    const { field, reason } = (error as InvalidRequestError).details;
    return `${field as string} ${reason as string}`;
  }
};

describe('UploadFields', () => {
  const add = (fields: UploadFields, name: string | undefined, value: string | undefined, isTruncated = false) =>
    fields.add({ name, value, isTruncated })?.details;

  it('keeps each of its fields, and at most fifteen parts are read for them', () => {
    const fields = new UploadFields();
    const retention = { retain_audio_days: '1', retain_text_days: '2', delete_audio_after: '' };
    const details = {
      title: 'A',
      custom_tags: '{}',
      language: 'english',
      languages: 'a',
      vocabulary: 'a',
      channels: '',
      speakers: '',
      diarize: '',
      url: '',
      callback_url: '',
      callback_secret: '',
      ...retention,
    };
    for (const [name, value] of Object.entries(details)) expect(add(fields, name, value)).toBeUndefined();
    expect(fields.details()).toEqual(details);
    expect([fields.maxFields, fields.names]).toEqual([15, Object.keys(details)]);
  });

  it.each<[string, string | undefined, string | undefined, boolean, object]>([
    ['an unknown one', 'tags', 'x', false, { field: 'tags' }],
    ['one without a name', undefined, 'x', false, { field: '' }],
    ['one with the name of a property', 'toString', 'x', false, { field: 'toString' }],
    ['one given twice', 'language', 'x', false, { field: 'language', reason: 'may be given only once' }],
    ['one that is too long', 'vocabulary', 'x', true, { field: 'vocabulary', reason: 'must be at most 16384 bytes' }],
    ['text that cannot be read', 'channels', undefined, false, { field: 'channels', reason: 'must be text in UTF-8' }],
  ])('refuses %s, and does not keep it', (_, name, value, isTruncated, refusal) => {
    const fields = new UploadFields();
    add(fields, 'language', 'english');
    expect(add(fields, name, value, isTruncated)).toMatchObject(refusal);
    expect(fields.details()).toEqual({ language: 'english' });
  });

  it('refuses a second one also when the first was empty', () => {
    const fields = new UploadFields();
    add(fields, 'language', '');
    expect(add(fields, 'language', 'x')).toMatchObject({ reason: 'may be given only once' });
  });
});

describe('what an upload says', () => {
  it.each([
    ...['', 'ü', 'x'.repeat(256), 'line\nbreak', 'tab\t'].map((key) => [key, false] as const),
    ...[undefined, 'x', ' ~', 'x'.repeat(255)].map((key) => [key, true] as const),
  ])('takes the Idempotency-Key %j: %s', (key, isTaken) => {
    const refusal = 'Idempotency-Key must be 1 to 255 printable ASCII characters';
    expect(detailsOf(() => readIdempotencyKey(key))).toBe(isTaken ? (key ?? null) : refusal);
  });

  it.each([
    [undefined, 'api'],
    ['api', 'api'],
    ['console', 'console'],
    ['access_token', 'X-Upload-Source must be one of api, console'],
    ['', 'X-Upload-Source must be one of api, console'],
    ['API', 'X-Upload-Source must be one of api, console'],
  ])('X-Upload-Source %s: %s', (header, read) => {
    expect(detailsOf(() => readUploadSource(header))).toBe(read);
  });

  it.each([
    [undefined, null],
    ['{ "a": "b" }', '{"a":"b"}'],
    ['{}', '{}'],
    ['{"a":1}', 'custom_tags value of "a" must be a string'],
  ])('custom_tags %s: %s', (text, read) => {
    expect(detailsOf(() => readCustomTags(text))).toBe(read);
  });

  const NO_LANGUAGE = 'language must be the English name of a language, such as english';

  it.each([
    [undefined, null],
    ['english', 'english'],
    ['German', 'german'],
    ['en', 'language must be a language name, not a code: english'],
    ['', NO_LANGUAGE],
    ['klingon', NO_LANGUAGE],
    ['english\n', NO_LANGUAGE],
  ])('language %s: %s', (text, read) => {
    const expected = read === null || !read.includes(' ') ? { language: read, languages: null } : read;
    expect(detailsOf(() => readSpokenLanguages(text, undefined))).toEqual(expected);
  });

  const NO_LIST = 'languages must be a list of 1 to 5 language names, such as ["english","german"]';

  it.each<[string | string[], string[] | string]>([
    ['english', ['english']],
    ['German, Mandarin,german', ['german', 'chinese']],
    ['["english","german"]', ['english', 'german']],
    [
      ['english', 'german'],
      ['english', 'german'],
    ],
    ['', NO_LIST],
    [[], NO_LIST],
    ['[]', NO_LIST],
    ['[1]', NO_LIST],
    ['english,german,french,italian,spanish,dutch', NO_LIST],
    ['["english"', `${NO_LIST}, or names separated by commas`],
    ['english,de', 'languages item 2 must be a language name, not a code: german'],
    ['klingon', 'languages item 1 must be the English name of a language, such as english'],
  ])('languages %s: %s', (given, read) => {
    const expected = typeof read === 'string' ? read : { language: null, languages: read };
    expect(detailsOf(() => readSpokenLanguages(undefined, given))).toEqual(expected);
  });

  it('takes one language or several, not both', () => {
    const both = 'languages must not be given together with language';
    expect(detailsOf(() => readSpokenLanguages('english', 'english'))).toBe(both);
  });

  it.each([
    [undefined, null],
    ['', null],
    ['[]', null],
    [' , ', null],
    ['b', ['b']],
    ['b, a', ['b', 'a']],
    ['["b","a"]', ['b', 'a']],
    ['["b"', 'vocabulary must be a JSON list of texts, such as ["Grafana","Zoë"], or terms separated by commas'],
  ])('vocabulary %s: %s', (text, read) => {
    expect(detailsOf(() => readVocabulary(text))).toEqual(read);
  });

  const TOO_MANY = 'channels must not be separate for a recording of more than two channels; this has 3';

  it.each<[string | undefined, number | null, boolean | string]>([
    [undefined, 3, false],
    ['mixed', 3, false],
    ['separate', null, true],
    ['separate', 1, true],
    ['separate', 2, true],
    ['separate', 3, TOO_MANY],
    ['', 2, 'channels must be one of mixed, separate'],
    ['Separate', 6, 'channels must be one of mixed, separate'],
  ])('channels %s of %s: %s', (text, channels, read) => {
    expect(detailsOf(() => readSeparateChannels(text, channels))).toBe(read);
  });

  const NOT_SPEAKERS = 'speakers must be auto or an integer from 1 to 20';
  const NOT_BOOLEAN = 'diarize must be true or false';

  it.each<[string | undefined, string | undefined, number | null | string]>([
    [undefined, undefined, null],
    ['auto', undefined, 0],
    ['1', undefined, 1],
    ['20', undefined, 20],
    [undefined, 'true', 0],
    [undefined, 'false', NO_SPEAKERS],
    ['auto', 'true', 0],
    ['3', 'true', 3],
    ['3', 'false', 'diarize must not be false together with speakers'],
    ['0', undefined, NOT_SPEAKERS],
    ['21', undefined, NOT_SPEAKERS],
    ['-1', undefined, NOT_SPEAKERS],
    ['2.5', undefined, NOT_SPEAKERS],
    [' 2', undefined, NOT_SPEAKERS],
    ['Auto', undefined, NOT_SPEAKERS],
    ['', undefined, NOT_SPEAKERS],
    [undefined, 'yes', NOT_BOOLEAN],
    [undefined, '', NOT_BOOLEAN],
  ])('speakers %s and diarize %s: %s', (speakers, diarize, read) => {
    expect(
      detailsOf(() =>
        readSpeakers({ ...(speakers !== undefined && { speakers }), ...(diarize !== undefined && { diarize }) }),
      ),
    ).toBe(read);
  });

  it('takes numbers and booleans of speakers from a JSON body, and nothing else', () => {
    const json = (body: object) =>
      detailsOf(() => {
        const fields = new UploadFields();
        fields.addJson({ url: 'https://files.example.com/a.ogg', ...body });
        return readSpeakers(fields.details());
      });
    expect([json({ speakers: 2 }), json({ speakers: '2' }), json({ speakers: 'auto' })]).toEqual([2, 2, 0]);
    expect([json({ diarize: true }), json({ diarize: 'false' })]).toEqual([0, NO_SPEAKERS]);
    expect(json({ speakers: 2.5 })).toBe(NOT_SPEAKERS);
    for (const wrong of [{ speakers: true }, { speakers: null }, { speakers: [2] }]) {
      expect(json(wrong)).toBe('speakers must be text');
    }
    expect([json({ diarize: 1 }), json({ diarize: {} })]).toEqual(['diarize must be text', 'diarize must be text']);
  });

  const NOT_DAYS = 'must be a number of days from 1 to 3650';

  it.each<[string, Record<string, string>, object | string]>([
    ['nothing', {}, { retainAudioDays: null, retainTextDays: null, deleteAudioAfter: null }],
    [
      'the most',
      { retain_audio_days: '3650', retain_text_days: '3650' },
      { retainAudioDays: 3650, retainTextDays: 3650 },
    ],
    ['the least', { retain_audio_days: '1' }, { retainAudioDays: 1, retainTextDays: null }],
    ['after', { delete_audio_after: 'transcribed' }, { deleteAudioAfter: 'transcribed' }],
    ['none', { retain_audio_days: '0' }, `retain_audio_days ${NOT_DAYS}`],
    ['too many', { retain_text_days: '3651' }, `retain_text_days ${NOT_DAYS}`],
    ['a fraction', { retain_text_days: '1.5' }, `retain_text_days ${NOT_DAYS}`],
    ['a blank', { retain_audio_days: ' 1' }, `retain_audio_days ${NOT_DAYS}`],
    ['another state', { delete_audio_after: 'failed' }, 'delete_audio_after must be transcribed'],
    [
      'audio beyond the text',
      { retain_audio_days: '31', retain_text_days: '30' },
      'retain_audio_days must be at most retain_text_days (30): the audio goes with the text at the latest',
    ],
  ])('retention of %s', (_, given, read) => {
    const found = detailsOf(() => readRetention(given));
    if (typeof read === 'string') expect(found).toBe(read);
    else expect(found).toMatchObject(read);
  });
});
