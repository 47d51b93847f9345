import { isLanguage, languageCode, languageName } from './languages.js';

/** Every language of Whisper's tokenizer, code and name as its servers write them. */
const WHISPER = `
  en english zh chinese de german es spanish ru russian ko korean fr french ja japanese pt portuguese tr turkish
  pl polish ca catalan nl dutch ar arabic sv swedish it italian id indonesian hi hindi fi finnish vi vietnamese
  he hebrew uk ukrainian el greek ms malay cs czech ro romanian da danish hu hungarian ta tamil no norwegian th thai
  ur urdu hr croatian bg bulgarian lt lithuanian la latin mi maori ml malayalam cy welsh sk slovak te telugu fa persian
  lv latvian bn bengali sr serbian az azerbaijani sl slovenian kn kannada et estonian mk macedonian br breton eu basque
  is icelandic hy armenian ne nepali mn mongolian bs bosnian kk kazakh sq albanian sw swahili gl galician mr marathi
  pa punjabi si sinhala km khmer sn shona yo yoruba so somali af afrikaans oc occitan ka georgian be belarusian tg tajik
  sd sindhi gu gujarati am amharic yi yiddish lo lao uz uzbek fo faroese ps pashto tk turkmen nn nynorsk mt maltese
  sa sanskrit lb luxembourgish bo tibetan tl tagalog mg malagasy as assamese tt tatar haw hawaiian ln lingala ha hausa
  ba bashkir su sundanese yue cantonese`
  .trim()
  .split(/\s+/);
const PAIRS = WHISPER.flatMap((code, i) => (i % 2 === 0 ? [[code, WHISPER[i + 1] ?? ''] as const] : []));

describe('languages', () => {
  it.each(PAIRS)('%s is %s in both directions', (code, name) => {
    expect(languageCode(name)).toBe(code);
    expect(languageName(code)).toBe(name);
    expect(languageName(name)).toBe(name);
    expect(isLanguage(name)).toBe(true);
  });

  it.each([
    ['haitian creole', 'ht'],
    ['haitian', 'ht'],
    ['mandarin', 'zh'],
    ['myanmar', 'my'],
    ['burmese', 'my'],
    ['javanese', 'jv'],
    ['castilian', 'es'],
    ['filipino', 'tl'],
    ['farsi', 'fa'],
    ['Māori', 'mi'],
    ['English', 'en'],
    ['esperanto', 'eo'],
    ['zulu', 'zu'],
    ['swiss german', 'gsw'],
  ])('%s has the code %s', (name, code) => {
    expect(languageCode(name)).toBe(code);
  });

  it.each([
    ['Mandarin', 'chinese'],
    ['Burmese/Myanmar', 'burmese'],
    ['Spanish; Castilian', 'spanish'],
    ['Chinese (simplified)', 'chinese'],
    ['en-US', 'english'],
    ['pt_BR', 'portuguese'],
    ['deu', 'german'],
    ['ger', 'german'],
    ['cmn', 'chinese'],
    ['EN', 'english'],
    ['jw', 'javanese'],
    ['iw', 'hebrew'],
    ['fil', 'tagalog'],
    ['tgl', 'tagalog'],
    ['zh-Hant-TW', 'chinese'],
  ])('engines may name %s, which is %s', (said, name) => {
    expect(languageName(said)).toBe(name);
  });

  it.each([
    '',
    'en',
    'klingonese',
    'englisch',
    'english ',
    '__proto__',
    'constructor',
    'zz',
    'none',
    'multiple languages',
  ])('%j is not the name of a language', (name) => {
    expect(isLanguage(name)).toBe(false);
    expect(languageCode(name)).toBeNull();
  });

  it.each(['', 'zz', 'xx-unknown', 'auto', 'und', 'mul', '__proto__'])('%j names no language', (text) => {
    expect(languageName(text)).toBeNull();
  });

  it('gives every name a code that leads back to it', () => {
    for (const [, name] of PAIRS) expect(languageName(languageCode(name) ?? '')).toBe(name);
  });
});
