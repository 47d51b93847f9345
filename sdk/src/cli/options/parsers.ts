import { InvalidArgumentError } from 'commander';

/** Turns an option's text into its value. Commander passes the value before when an option is repeated. */
type Parser<T> = (value: string, previous: T | undefined) => T;

/** `--tag order=A-1`, as often as there are tags. */
export const tag: Parser<Record<string, string>> = (value, previous = {}) => {
  const at = value.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write a tag as KEY=VALUE.');
  const key = value.slice(0, at);
  if (Object.hasOwn(previous, key)) throw new InvalidArgumentError(`The tag ${key} is given twice.`);
  return { ...previous, [key]: value.slice(at + 1) };
};

/** Separated by commas, and the option may be repeated. */
export const list: Parser<string[]> = (value, previous = []) => [
  ...previous,
  ...value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
];

export const listOf =
  (allowed: readonly string[]): Parser<string[]> =>
  (value, previous) => {
    const items = list(value, previous);
    const wrong = items.find((item) => !allowed.includes(item));
    if (wrong !== undefined) throw new InvalidArgumentError(`${wrong} is none of ${allowed.join(', ')}.`);
    return items;
  };

export const integer =
  (from: number, to: number): Parser<number> =>
  (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < from || number > to) {
      throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
    }
    return number;
  };

/** Days that something is kept, or `unlimited`: commander takes null for no value. */
export const days: Parser<number | 'unlimited'> = (value) =>
  value === 'unlimited' ? value : integer(1, 3650)(value, undefined);

/** How many speakers there are, or `auto`. */
export const speakers: Parser<number | 'auto'> = (value) =>
  value === 'auto' ? value : integer(1, 20)(value, undefined);

/** A day in UTC, as the service counts them; `today`, `yesterday` and `7d` (days ago) too. */
export const day: Parser<string> = (value) => {
  const back = value === 'today' ? 0 : value === 'yesterday' ? 1 : Number(/^(\d{1,4})d$/.exec(value)?.[1] ?? NaN);
  if (!Number.isNaN(back)) return new Date(Date.now() - back * DAY_MS).toISOString().slice(0, 10);
  if (!isDay(value)) throw new InvalidArgumentError('Write a day as 2026-01-31, today, yesterday or 7d.');
  return value;
};

const DAY_MS = 86_400_000;

function isDay(value: string): boolean {
  const date = new Date(`${value}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value);
}

/** `30d`, `12h` from now, or a time with a zone. */
export const expiry: Parser<string> = (value) => {
  const [, amount, unit] = /^(\d{1,5})([hd])$/.exec(value) ?? [];
  if (amount) return new Date(Date.now() + Number(amount) * (unit === 'h' ? 3_600_000 : DAY_MS)).toISOString();
  const date = new Date(value);
  if (!/^\d{4}-\d\d-\d\dT.+(Z|[+-]\d\d:\d\d)$/.test(value) || Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Write it as 30d, 12h, or a time with a zone such as 2030-01-31T12:00:00Z.');
  }
  return value;
};

/** Names of profiles are keys of a file and part of messages. */
export const profileName: Parser<string> = (value) => {
  if (!/^[\w.-]{1,50}$/.test(value)) {
    throw new InvalidArgumentError('A profile has a name of letters, digits, dots, hyphens and underscores.');
  }
  return value;
};
