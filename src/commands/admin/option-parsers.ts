import { InvalidArgumentError } from 'commander';
import { type EngineChoice, parseEngineChoices } from '../../modules/transcriptions/engines/engine-choice.js';
import { networksProblem } from '../../platform/http/networks.js';
import { isCleanText, isDay, isEmail, isFutureInstant } from '../../platform/http/input/text-rules.js';

/** Turns an option's text into its value. Commander passes the value before when an option is repeated. */
type Parser<T> = (value: string, previous: unknown) => T;

const MAX_COUNT = 1_000_000;

export const text =
  (max: number): Parser<string> =>
  (value, previous) => {
    check(previous === undefined, 'The option may be given only once.');
    check(isText(value, max), `It must be text of 1 to ${max} characters, without control characters.`);
    return value;
  };

const isText = (value: string, max: number): boolean =>
  value.trim() !== '' && [...value].length <= max && isCleanText(value);

export const email: Parser<string> = (value, previous) => {
  check(isEmail(text(254)(value, previous)), 'It must be an e-mail address.');
  return value;
};

export const choice =
  <T extends string>(allowed: readonly T[]): Parser<T> =>
  (value, previous) => {
    const found = allowed.find((item) => item === text(100)(value, previous));
    check(found !== undefined, `Allowed choices are ${allowed.join(', ')}.`);
    return found as T;
  };

/** Several of `allowed`, separated by commas, each once. */
export const choices =
  <T extends string>(allowed: readonly T[]): Parser<T[]> =>
  (value, previous) => {
    const items = text(500)(value, previous).split(',');
    const found = items.flatMap((item) => allowed.find((one) => one === item.trim()) ?? []);
    const valid = found.length === items.length && new Set(found).size === items.length;
    check(valid, `Allowed, separated by commas and each once, are ${allowed.join(', ')}.`);
    return found;
  };

/** CIDRs, separated by commas. */
export const networks: Parser<string[]> = (value, previous) => {
  const items = text(1000)(value, previous).split(',');
  const problem = networksProblem(items);
  if (problem !== null) throw new InvalidArgumentError(`It ${problem}.`);
  return items;
};

export const count: Parser<number> = (value, previous) => {
  const parsed = Number(text(20)(value, previous));
  const valid = /^\d+$/.test(value) && parsed >= 1 && parsed <= MAX_COUNT;
  check(valid, `It must be an integer from 1 to ${MAX_COUNT}.`);
  return parsed;
};

/** A quota: an integer from 0, `unlimited`, or `plan` for the one of the account's plan. */
export const quota: Parser<number | 'unlimited' | 'plan'> = (value, previous) => {
  const given = text(20)(value, previous);
  if (given === 'unlimited' || given === 'plan') return given;
  const parsed = Number(given);
  const valid = /^\d+$/.test(given) && Number.isSafeInteger(parsed);
  check(valid, 'It must be an integer from 0, unlimited, or plan.');
  return parsed;
};

/** Days that something is kept, or `unlimited`. */
export const retention: Parser<number | 'unlimited'> = (value, previous) => {
  const given = text(20)(value, previous);
  if (given === 'unlimited') return given;
  const parsed = Number(given);
  check(/^\d+$/.test(given) && parsed >= 1 && parsed <= 3650, 'It must be an integer from 1 to 3650, or unlimited.');
  return parsed;
};

/** Engines in their order, or `default` for those of the service. */
export const engines: Parser<EngineChoice[] | 'default'> = (value, previous) => {
  const given = text(4000)(value, previous);
  if (given === 'default') return given;
  try {
    return parseEngineChoices(given);
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as Error).message}.`);
  }
};

export const futureTime: Parser<string> = (value, previous) => {
  check(isFutureInstant(text(64)(value, previous)), 'It must be a time in the future, such as 2030-01-31T12:00:00Z.');
  return value;
};

export const day: Parser<string> = (value, previous) => {
  check(isDay(text(64)(value, previous)), 'It must be a day that exists, such as 2026-01-31.');
  return value;
};

function check(condition: boolean, message: string): void {
  if (!condition) throw new InvalidArgumentError(message);
}
