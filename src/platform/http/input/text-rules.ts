/** Cc is C0, DEL and C1: they corrupt logs and terminals, and Postgres refuses NUL. */
const CONTROL_CHARACTERS = /\p{Cc}/u;

/** Text that can be stored and shown: no control characters, no lone surrogates. */
export const isCleanText = (value: string): boolean => !CONTROL_CHARACTERS.test(value) && value.isWellFormed();

/**
 * As `<input type="email">` accepts it (WHATWG HTML), with a dot in the domain. Not class-validator's rule: importing
 * that takes 0.15 s, which every usage error of a command would wait for.
 */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@([a-z\d]([a-z\d-]{0,61}[a-z\d])?\.)+[a-z\d]([a-z\d-]{0,61}[a-z\d])?$/i;

export const isEmail = (value: string): boolean => value.length <= 254 && EMAIL.test(value);

const ALTERNATIVES = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** For messages: `webm, mp3 or ogg`. */
export const anyOf = (values: readonly string[]): string => ALTERNATIVES.format(values);

/** `new Date('2026-02-30')` is 2 March, so the day is written back and compared. Postgres has no year 0. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Years have four digits on the wire and begin with 1; with its zone a time may lie beyond them. */
const YEAR_1 = Date.parse('0001-01-01T00:00:00Z');
const YEAR_10000 = Date.UTC(10_000, 0);

/** Whether `text` is an instant with a zone, as ISO 8601. */
export function isInstant(text: string): boolean {
  const [, day] = INSTANT.exec(text) ?? [];
  const time = Date.parse(text);
  return day !== undefined && isDay(day) && time >= YEAR_1 && time < YEAR_10000;
}

/** As {@link isInstant}, later than now. */
export const isFutureInstant = (text: string): boolean => isInstant(text) && Date.parse(text) > Date.now();

/**
 * Without the characters at its end that match. An expression such as `/ +$/` takes quadratic time for a text with many
 * blanks in its middle.
 * @param mark matches one UTF-16 unit; without the flag `g`
 */
export function trimmedEnd(text: string, mark: RegExp): string {
  let end = text.length;
  while (end > 0 && mark.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
