import { duplicateKey, jsonKeys } from './parse-body.js';

describe('jsonKeys', () => {
  it('lists keys in the order of the text, with integer-like and repeated ones', () => {
    const keys = [...jsonKeys('{"b": 1, "1": [{"b": "x: {"}], "b": {"\\u0061": "}\\"{"}}')];
    expect(keys).toEqual([
      { key: 'b', object: 1 },
      { key: '1', object: 1 },
      { key: 'b', object: 3 },
      { key: 'b', object: 1 },
      { key: 'a', object: 4 },
    ]);
  });
});

describe('duplicateKey', () => {
  it.each([
    ['{"url": 1, "url": 2}', 'url'],
    ['{"a": {"x": 1, "\\u0078": 2}}', 'x'],
    ['{"__proto__": 1, "__proto__": 2}', '__proto__'],
  ])('finds the repeated key of %s', (json, key) => {
    expect(duplicateKey(json)).toBe(key);
  });

  it('accepts the same key in different objects, and as a value', () => {
    expect(duplicateKey('{"a": {"a": "a"}, "b": [{"a": 1}, {"a": 1}], "c": "a"}')).toBeNull();
  });
});
