/** Values of a type or form, for `toStrictEqual`. */

/** D1: a UUIDv7 in canonical form. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** A value that passes `test`; `toStrictEqual` shows `name` where it does not. */
export function matching(name: string, test: (value: unknown) => boolean): unknown {
  return {
    $$typeof: Symbol.for('jest.asymmetricMatcher'),
    asymmetricMatch: test,
    toString: () => name,
    toAsymmetricMatcher: () => name,
  };
}

export const like = (name: string, pattern: RegExp): unknown =>
  matching(name, (value) => typeof value === 'string' && pattern.test(value));
export const oneOf = (...values: readonly string[]): unknown =>
  matching(`one of ${values.join(', ')}`, (value) => values.includes(value as string));
export const orNull = (matcher: unknown): unknown => {
  const inner = matcher as { asymmetricMatch: (value: unknown) => boolean; toString: () => string };
  return matching(`${inner.toString()} or null`, (value) => value === null || inner.asymmetricMatch(value));
};

export const text = matching('text', (value) => typeof value === 'string');
export const number = matching('a number of 0 or more', (value) => typeof value === 'number' && value >= 0);
export const integer = matching(
  'an integer of 0 or more',
  (value) => Number.isInteger(value) && (value as number) >= 0,
);
export const boolean = matching('a boolean', (value) => typeof value === 'boolean');
export const id = like('a UUIDv7', UUID);
