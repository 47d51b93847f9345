import { engineChoicesJson, parseEngineChoices, readEngineChoices } from './engine-choice.js';

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
