import { engineChoicesJson, parseEngineChoices, readEngineChoices, takenLanguages } from './engine-choice.js';
import { AudioRejectedError } from './transcription-engine.js';
import { type EngineChoice, type RoutedAudio, routeOf } from './engine-choice.js';

describe('parseEngineChoices', () => {
  it.each([
    ['auto', [{ name: 'auto' }]],
    [' sherpa , openai', [{ name: 'sherpa' }, { name: 'openai' }]],
    ['["sherpa", {"name":"openai"}]', [{ name: 'sherpa' }, { name: 'openai' }]],
    [
      '[{"name":"sherpa","languages":["English","mandarin","english"],"max_seconds":600},{"name":"openai"}]',
      [{ name: 'sherpa', languages: ['english', 'chinese'], maxSeconds: 600 }, { name: 'openai' }],
    ],
  ])('reads %s', (text, choices) => {
    expect(parseEngineChoices(text)).toEqual(choices);
  });

  it.each([
    ['', 'must give each engine a name'],
    ['a,,b', 'must give each engine a name'],
    ['[', /^must be names separated by commas, or a JSON list such as \[/],
    ['[]', /^must be a list such as/],
    ['[[]]', /^must be a list such as/],
    ['[{"languages":["english"]}]', 'must give each engine a name'],
    ['[{"name":"a","language":"english"}]', 'has an unknown key "language". Use name, languages, max_seconds'],
    ['[{"name":"a","languages":["en"]}]', /^must have English names in languages of a/],
    ['[{"name":"a","languages":[]}]', /^must have English names in languages of a/],
    ['[{"name":"a","max_seconds":0}]', 'must have an integer from 1 to 86400 in max_seconds of a'],
    ['[null]', /^must be a list such as \[/],
    ['[7]', /^must be a list such as \[/],
    ['[{"name":"a","languages":"english"}]', /^must have English names in languages of a/],
    ['[{"name":"a","languages":["english","elvish"]}]', /^must have English names in languages of a/],
    ['[{"name":"a","languages":["english",null]}]', /^must have English names in languages of a/],
    ['[{"name":"a","max_seconds":86401}]', 'must have an integer from 1 to 86400 in max_seconds of a'],
    ['[{"name":"a","max_seconds":1.5}]', 'must have an integer from 1 to 86400 in max_seconds of a'],
    ['[{"name":"a","max_seconds":"600"}]', 'must have an integer from 1 to 86400 in max_seconds of a'],
    [Array(11).fill('a').join(), 'must have at most 10 engines'],
  ])('refuses %s', (text, message) => {
    expect(() => parseEngineChoices(text)).toThrow(message);
  });

  it.each([null, undefined, {}, 'openai', []])('refuses %j in place of a list', (value) => {
    expect(() => readEngineChoices(value)).toThrow(/^must be a list such as \[\{"name":"openai"/);
  });

  it.each([1, 86_400])('takes max_seconds of %s', (maxSeconds) => {
    expect(readEngineChoices([{ name: 'a', max_seconds: maxSeconds }])).toEqual([{ name: 'a', maxSeconds }]);
  });

  it('takes 10 engines, and a list after blanks', () => {
    expect(parseEngineChoices(Array(10).fill('a').join())).toHaveLength(10);
    expect(parseEngineChoices(' \n["a"]')).toEqual([{ name: 'a' }]);
  });

  it('writes no key that a choice does not have', () => {
    expect(Object.keys(engineChoicesJson([{ name: 'a' }])[0]!)).toEqual(['name']);
  });

  it('reads what engineChoicesJson writes', () => {
    const choices = [{ name: 'a', languages: ['english'], maxSeconds: 5 }, { name: 'b' }];
    expect(engineChoicesJson(choices)).toEqual([{ name: 'a', languages: ['english'], max_seconds: 5 }, { name: 'b' }]);
    expect(readEngineChoices(engineChoicesJson(choices))).toEqual(choices);
  });
});

const LANGUAGES: Record<string, readonly string[] | 'any'> = {
  any: 'any',
  other: 'any',
  english: ['english'],
  two: ['english', 'german'],
};

function route(chain: EngineChoice[], audio: Partial<RoutedAudio> = {}) {
  const whole = { language: null, seconds: 10, faults: 0, ...audio };
  return routeOf(chain, whole, (name) => LANGUAGES[name]);
}

const names = (chain: EngineChoice[], audio?: Partial<RoutedAudio>): string[] =>
  route(chain, audio).choices.map(({ name }) => name);

describe('routeOf', () => {
  it('keeps the order of the chain, and each engine once', () => {
    expect(names([{ name: 'any' }, { name: 'english' }, { name: 'any' }])).toEqual(['any', 'english']);
  });

  it('leaves out engines that do not speak the language, and entries for other languages', () => {
    const chain = [{ name: 'english' }, { name: 'any', languages: ['french'] }, { name: 'two' }, { name: 'other' }];
    expect(names(chain, { language: 'german' })).toEqual(['two', 'other']);
    expect(names(chain, { language: 'french' })).toEqual(['any', 'other']);
    expect(names(chain, { language: 'english' })).toEqual(['english', 'two', 'other']);
  });

  it('gives several languages to the engines that take all of them, else to those that take some', () => {
    const chain = [{ name: 'english' }, { name: 'any', languages: ['french', 'german'] }, { name: 'two' }];
    expect(names(chain, { languages: ['english', 'german'] })).toEqual(['two']);
    expect(names(chain, { languages: ['german', 'french'] })).toEqual(['any']);
    expect(names(chain, { languages: ['polish', 'english'] })).toEqual(['english', 'two']);
    expect(takenLanguages({ name: 'two' }, ['english', 'german'], ['polish', 'german'])).toEqual(['german']);
    expect(() => route(chain, { languages: ['polish', 'dutch'] })).toThrow(/^Language not supported: polish, dutch\. /);
  });

  it('gives audio that is to be translated only to engines that do so', () => {
    const chain = [{ name: 'english' }, { name: 'any' }, { name: 'gone' }];
    const audio = { language: null, seconds: 1, faults: 0, translate: true };
    const languagesOf = (name: string) => (name === 'gone' ? undefined : ('any' as const));
    const able = (given: string[]) => routeOf(chain, audio, languagesOf, (name) => given.includes(name));
    expect(able(['any']).choices).toEqual([{ name: 'any' }]);
    expect(able([])).toMatchObject({ choices: [], missing: ['gone'] });
    expect(() => routeOf(chain.slice(0, 2), audio, languagesOf)).toThrow(/^This service has no engine that translates/);
  });

  it('gives a recording without a language to entries for any, or else to all', () => {
    const restricted = { name: 'any', languages: ['french'] };
    expect(names([restricted, { name: 'english' }])).toEqual(['english']);
    expect(names([restricted])).toEqual(['any']);
  });

  it('refuses a language that none takes, and names those that are', () => {
    const refusal = () => route([{ name: 'two' }, { name: 'any', languages: ['french'] }], { language: 'polish' });
    expect(refusal).toThrow(AudioRejectedError);
    expect(refusal).toThrow('Language not supported: polish. Supported: english, german, french.');
    const narrowed = () => route([{ name: 'two', languages: ['german', 'french'] }], { language: 'english' });
    expect(narrowed).toThrow('Language not supported: english. Supported: german.');
  });

  it('leaves out entries for shorter recordings; of too short ones only, the longest finds out', () => {
    const chain = [
      { name: 'any', maxSeconds: 60 },
      { name: 'other', maxSeconds: 600 },
    ];
    expect(names(chain, { seconds: 60 })).toEqual(['any', 'other']);
    expect(names(chain, { seconds: 61 })).toEqual(['other']);
    expect(names(chain, { seconds: 601 })).toEqual(['other']);
    expect(names(chain, { seconds: null })).toEqual(['any', 'other']);
    expect(names([chain[1]!, chain[0]!], { seconds: 601 })).toEqual(['other']);
    expect(route(chain).dependsOnLength).toBe(true);
    expect(route([{ name: 'two' }, ...chain]).dependsOnLength).toBe(true);
    expect(route([...chain, { name: 'two' }], { seconds: 601 }).dependsOnLength).toBe(true);
    expect(route([{ name: 'any' }]).dependsOnLength).toBe(false);
  });

  it.each([
    [0, ['any', 'other', 'two']],
    [1, ['any', 'other', 'two']],
    [2, ['other', 'two']],
    [4, ['two']],
    [9, ['two']],
  ])('passes to the next engine with every second crash: %s', (faults, expected) => {
    expect(names([{ name: 'any' }, { name: 'other' }, { name: 'two' }], { faults })).toEqual(expected);
  });

  it('gives a recording of unknown length to an entry for the shortest recordings too', () => {
    expect(names([{ name: 'any', maxSeconds: 0.5 }, { name: 'other' }], { seconds: null })).toEqual(['any', 'other']);
  });

  it('gives one that is too long for the first engine to the next alone', () => {
    expect(names([{ name: 'any', maxSeconds: 60 }, { name: 'other' }], { seconds: 61 })).toEqual(['other']);
  });

  it('takes the entry of an engine that fits the language, though an earlier one does not', () => {
    const chain = [
      { name: 'any', languages: ['french'], maxSeconds: 5 },
      { name: 'any', languages: ['german'], maxSeconds: 50 },
    ];
    expect(route(chain, { language: 'german' }).choices).toEqual([chain[1]]);
  });

  it('leaves engines that this process does not have out of the choice, whatever the language', () => {
    expect(names([{ name: 'gone' }, { name: 'any' }])).toEqual(['any']);
    expect(names([{ name: 'any' }, { name: 'gone' }], { language: 'german' })).toEqual(['any']);
    expect(
      names(
        [
          { name: 'gone', maxSeconds: 600 },
          { name: 'any', maxSeconds: 60 },
        ],
        { seconds: 300 },
      ),
    ).toEqual(['any']);
  });

  it('names engines that this process does not have, and refuses nothing because of them', () => {
    expect(route([{ name: 'gone' }], { language: 'polish' })).toMatchObject({ choices: [], missing: ['gone'] });
    const both = route([{ name: 'gone' }, { name: 'english' }], { language: 'english' });
    expect(both).toMatchObject({ choices: [{ name: 'english' }], missing: ['gone'] });
  });
});
