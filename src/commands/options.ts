import { parseArgs } from 'node:util';
import { isEmail } from 'class-validator';
import { isCleanText, isFutureInstant } from '../platform/http/input/rules.js';

/** What was typed is not what the command takes. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

const MAX_COUNT = 1_000_000;

/** The options of one command. Every method throws UsageError naming the option and the rule. */
export class Options {
  private readonly values: Record<string, string | boolean | (string | boolean)[] | undefined>;

  /** @param names of the options with a value; `--json` has none. */
  constructor(args: string[], names: readonly string[]) {
    const options = Object.fromEntries(names.map((name) => [name, { type: 'string' as const, multiple: true }]));
    try {
      this.values = parseArgs({ args, options: { ...options, json: { type: 'boolean' } }, strict: true }).values;
    } catch (error) {
      throw new UsageError((error as Error).message.split('. ')[0]);
    }
  }

  get json(): boolean {
    return this.values.json === true;
  }

  optionalText(name: string, max: number): string | undefined {
    const given = this.values[name];
    if (!Array.isArray(given)) return undefined;
    const [value, ...more] = given.map(String);
    if (more.length > 0) throw new UsageError(`--${name} must be given once`);
    if (!value?.trim() || [...value].length > max || !isCleanText(value)) {
      throw new UsageError(`--${name} must be text of 1 to ${max} characters`);
    }
    return value;
  }

  requiredText(name: string, max: number): string {
    const value = this.optionalText(name, max);
    if (value === undefined) throw new UsageError(`--${name} is required`);
    return value;
  }

  optionalEmail(name: string): string | undefined {
    const value = this.optionalText(name, 254);
    if (value !== undefined && !isEmail(value)) throw new UsageError(`--${name} must be an e-mail address`);
    return value;
  }

  requiredEmail(name: string): string {
    this.requiredText(name, 254);
    return this.optionalEmail(name) as string;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    return this.choices(name, choices, 1)?.[0];
  }

  /** Several of `choices`, separated by commas. */
  choices<T extends string>(name: string, choices: readonly T[], max = choices.length): T[] | undefined {
    const items = this.optionalText(name, 500)?.split(',');
    if (items === undefined) return undefined;
    const known = items.flatMap((item) => choices.find((choice) => choice === item.trim()) ?? []);
    const valid = known.length === items.length && new Set(known).size === items.length && items.length <= max;
    if (!valid) throw new UsageError(`--${name} must be ${max > 1 ? 'some' : 'one'} of ${choices.join(', ')}`);
    return known;
  }

  count(name: string): number | undefined {
    const value = this.optionalText(name, 20);
    if (value === undefined) return undefined;
    const count = Number(value);
    if (!/^\d+$/.test(value) || count < 1 || count > MAX_COUNT) {
      throw new UsageError(`--${name} must be an integer from 1 to ${MAX_COUNT}`);
    }
    return count;
  }

  futureInstant(name: string): string | undefined {
    const value = this.optionalText(name, 64);
    if (value !== undefined && !isFutureInstant(value)) {
      throw new UsageError(`--${name} must be a time in the future, such as 2030-01-31T12:00:00Z`);
    }
    return value;
  }
}
