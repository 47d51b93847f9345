import fc from 'fast-check';
import { orderedTags, parseCustomTags } from './custom-tags.js';

const KEY = fc.string({ unit: fc.constantFrom(...Array.from('abcXYZ0123456789_-')), minLength: 1, maxLength: 32 });
const AWKWARD_KEY = fc.constantFrom('__proto__', 'constructor', 'toJSON', 'length', '0', '10', '2', '4294967294', '-1');
const VALUE = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((value) => !/\p{Cc}/u.test(value));
const PAIRS = fc.uniqueArray(fc.tuple(fc.oneof(KEY, AWKWARD_KEY), VALUE), { maxLength: 10, selector: ([key]) => key });

const member = (key: string, value: unknown): string => `${JSON.stringify(key)}:${JSON.stringify(value)}`;
const compact = (pairs: [string, unknown][]): string => `{${pairs.map(([key, value]) => member(key, value)).join()}}`;
const fits = (json: string): boolean => Buffer.byteLength(json) <= 1024;

describe('parseCustomTags', () => {
  it('keeps all tags in the order sent', () => {
    fc.assert(
      fc.property(PAIRS, (pairs) => {
        const json = compact(pairs);
        fc.pre(fits(json));
        expect(parseCustomTags(json)).toEqual({ ok: true, json });
      }),
    );
  });

  it('keeps them with any white space and escapes in the text', () => {
    const text = ' {\n "b" : "x\\u0041\\/\\"{,:}" ,\t"1":"\\ud83c\\udf99" , "\\u005f_proto__":"p"}\r\n';
    expect(parseCustomTags(text)).toEqual({ ok: true, json: '{"b":"xA/\\"{,:}","1":"🎙","__proto__":"p"}' });
  });

  it('keeps an empty object', () => {
    expect(parseCustomTags(' { } ')).toEqual({ ok: true, json: '{}' });
  });

  it('takes the last value of a repeated key, in the place of the first', () => {
    const text = '{"a":{"x":"y"},"b":"2","\\u0061":"3"}';
    expect(parseCustomTags(text)).toEqual({ ok: true, json: '{"a":"3","b":"2"}' });
  });

  it.each([
    '',
    ' ',
    'null',
    '[]',
    '["a"]',
    '"a"',
    '1',
    'true',
    '{',
    '{"a":"b"',
    '{a:"b"}',
    "{'a':'b'}",
    '\ufeff{}',
    '{}x',
  ])('rejects %j, which is no JSON object', (text) => {
    expect(parseCustomTags(text)).toEqual({ ok: false, reason: 'must be a JSON object, such as {"ticket":"T-1042"}' });
  });

  it.each([
    ['{"":"v"}', 'key "" must not be empty'],
    ['{"a b":"v"}', 'key "a b" may only contain A-Z a-z 0-9 _ -'],
    ['{"ok":"v","schlüssel":"v"}', 'key "schlüssel" may only contain A-Z a-z 0-9 _ -'],
    ['{"a\\n":"v"}', 'key "a\\n" may only contain A-Z a-z 0-9 _ -'],
    ['{"\\ud800":"v"}', 'key "\\ud800" may only contain A-Z a-z 0-9 _ -'],
    [compact([['k'.repeat(33), 'v']]), `key "${'k'.repeat(32)}…" must be at most 32 characters`],
    ['{"a":1}', 'value of "a" must be a string'],
    ['{"a":null}', 'value of "a" must be a string'],
    ['{"a":{"b":"c"}}', 'value of "a" must be a string'],
    ['{"__proto__":["x"]}', 'value of "__proto__" must be a string'],
    [compact([['a', 'v'.repeat(129)]]), 'value of "a" must be at most 128 characters'],
    ['{"a":"\\u0000"}', 'value of "a" must not contain control characters'],
    ['{"a":"line\\nbreak"}', 'value of "a" must not contain control characters'],
    ['{"a":"\\u0085"}', 'value of "a" must not contain control characters'],
    ['{"a":"x\\ud83cy"}', 'value of "a" must not contain lone surrogates'],
  ])('rejects %s: names the key and the rule', (text, reason) => {
    expect(parseCustomTags(text)).toEqual({ ok: false, reason });
  });

  it('accepts ten keys and rejects eleven', () => {
    const pairs = Array.from({ length: 11 }, (_, i): [string, string] => [`k${i}`, 'v']);
    expect(parseCustomTags(compact(pairs.slice(1)))).toMatchObject({ ok: true });
    expect(parseCustomTags(compact(pairs))).toEqual({ ok: false, reason: 'must have at most 10 keys; this has 11' });
  });

  it('counts code points in keys and values', () => {
    expect(parseCustomTags(compact([['k'.repeat(32), '🎙'.repeat(128)]]))).toMatchObject({ ok: true });
    expect(parseCustomTags(compact([['k', '🎙'.repeat(129)]]))).toMatchObject({ ok: false });
  });

  it('counts the bytes of the compact JSON, escapes and UTF-8 included', () => {
    // {"1":"…","2":"…"} with two values of 128 characters of 4 bytes is 15 bytes more than the values.
    const longest = (last: string): string =>
      compact([
        ['1', '🎙'.repeat(128)],
        ['2', '🎙'.repeat(124) + last],
      ]);
    expect(Buffer.byteLength(longest('a'))).toBe(1024);
    expect(parseCustomTags(longest('a').replace(',', ' ,\n'))).toMatchObject({ ok: true });
    expect(parseCustomTags(longest('"'))).toEqual({
      ok: false,
      reason: 'must be at most 1024 bytes of JSON; this is 1025',
    });
  });

  it('rejects deep nesting', () => {
    expect(parseCustomTags('{"a":'.repeat(10_000))).toMatchObject({ ok: false });
    expect(parseCustomTags(`{"a":${'['.repeat(8_000)}${']'.repeat(8_000)}}`)).toMatchObject({ ok: false });
  });
});

describe('orderedTags', () => {
  it('gives null for null', () => {
    expect(orderedTags(null)).toBeNull();
  });

  it('is written in the stored order, alone and inside a response', () => {
    fc.assert(
      fc.property(PAIRS, (pairs) => {
        const json = compact(pairs);
        expect(JSON.stringify(orderedTags(json))).toBe(json);
        expect(JSON.stringify({ custom_tags: orderedTags(json) })).toBe(`{"custom_tags":${json}}`);
      }),
    );
  });

  it('has the tags as properties, and inherits none', () => {
    const tags = orderedTags('{"b":"x","1":"y","__proto__":"z"}') as Record<string, string>;
    expect(Object.entries(tags)).toEqual([
      ['b', 'x'],
      ['1', 'y'],
      ['__proto__', 'z'],
    ]);
    expect(tags['b']).toBe('x');
    expect('constructor' in tags).toBe(false);
  });
});
