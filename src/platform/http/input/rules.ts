import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy, ValidateIf } from 'class-validator';
import { checkLanguages, MAX_LANGUAGES } from '../../languages.js';
import { checkSpeakers, SPEAKERS_SCHEMAS } from '../../speakers.js';
import { checkVocabulary, MAX_TERM_LENGTH, MAX_TERMS } from '../../vocabulary.js';
import { MAX_NETWORKS, networksProblem } from '../networks.js';
import { anyOf, isCleanText, isDay, isEmail, isFutureInstant, isInstant } from './text-rules.js';

export { isCleanText, isFutureInstant, isInstant };

/** Null when the value is right, else what is wrong, in words that follow the field's name. */
type Check = (value: unknown) => string | null;

/** A rule that explains itself: the check that finds a value wrong also words the message. */
export function IsValid(name: string, check: Check): PropertyDecorator {
  const problemOf: Check = (value) => (value === undefined ? 'is required' : check(value));
  return ValidateBy({
    name,
    validator: {
      validate: (value) => problemOf(value) === null,
      defaultMessage: (args) => `$property ${problemOf(args?.value)}`,
    },
  });
}

/** The property may be left out. Null is a value, and breaks the other rules. */
export const IsOmittable = (): PropertyDecorator =>
  applyDecorators(
    ValidateIf((_dto: object, value: unknown) => value !== undefined),
    ApiPropertyOptional(),
  );

/** For query parameters: one that is repeated arrives as a list. */
const once =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) ? 'may be given only once' : check(value);

/** Clean text of `min` to `max` code points; where some is wanted, blanks alone will not do. */
export function IsText(min: number, max: number): PropertyDecorator {
  return applyDecorators(IsValid('isText', textOf(min, max)), ApiProperty({ minLength: min, maxLength: max }));
}

export function IsEmail(): PropertyDecorator {
  const check: Check = (value) => (typeof value === 'string' && isEmail(value) ? null : 'must be an e-mail address');
  return applyDecorators(IsValid('isEmail', check), ApiProperty({ format: 'email', maxLength: 254 }));
}

/** The check of `IsText`, for what is no field of a JSON body. */
export function textOf(min: number, max: number): Check {
  return (value) => {
    if (typeof value !== 'string') return `must be text of ${min} to ${max} characters`;
    if (!isCleanText(value)) return 'must not contain control characters or lone surrogates';
    const { length } = [...value];
    if (length < min || length > max) return `must be text of ${min} to ${max} characters; this has ${length}`;
    return min > 0 && value.trim() === '' ? 'must not be blank' : null;
  };
}

/** Clean text of `min` to `max` characters, as a query parameter. */
export function IsTextFilter(min: number, max: number): PropertyDecorator {
  return applyDecorators(
    IsValid('isTextFilter', once(textOf(min, max))),
    ApiProperty({ minLength: min, maxLength: max }),
  );
}

/** A JSON number without a fraction. @param unit is added to the message. */
export function IsInteger(minimum: number, maximum: number, unit = ''): PropertyDecorator {
  return applyDecorators(
    IsValid('isInteger', integerFrom(minimum, maximum, unit && ` ${unit}`)),
    ApiProperty({ type: 'integer', minimum, maximum }),
  );
}

/** As {@link IsInteger}, or null. */
export function IsIntegerOrNull(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    IsValid('isIntegerOrNull', orNull(integerFrom(minimum, maximum, ''))),
    ApiProperty({ type: 'integer', nullable: true, minimum, maximum }),
  );
}

const orNull =
  (check: Check): Check =>
  (value) => {
    const problem = value === null ? null : check(value);
    return problem && `${problem}, or null`;
  };

/** Reads a query parameter written as a plain decimal integer; anything else stays text and breaks the integer rule. */
export const AsInteger = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value,
  );

/** How many speakers there are, or null. */
export function IsSpeakersOrNull(): PropertyDecorator {
  return applyDecorators(
    IsValid('isSpeakersOrNull', orNull(checkSpeakers)),
    ApiProperty({ oneOf: SPEAKERS_SCHEMAS, nullable: true }),
  );
}

/** A query parameter that is an integer. */
export function IsIntegerParameter(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    AsInteger(),
    IsValid('isIntegerParameter', once(integerFrom(minimum, maximum, ''))),
    ApiProperty({ type: 'integer', minimum, maximum }),
  );
}

function integerFrom(minimum: number, maximum: number, unit: string): Check {
  return (value) => {
    const fits = Number.isInteger(value) && (value as number) >= minimum && (value as number) <= maximum;
    return fits ? null : `must be an integer from ${minimum} to ${maximum}${unit}`;
  };
}

/** One of a few words, in a body. */
export function IsOneOf(values: readonly string[]): PropertyDecorator {
  return applyDecorators(IsValid('isOneOf', oneOf(values)), ApiProperty({ enum: [...values] }));
}

/** One of a few words, or null, in a body. */
export function IsOneOfOrNull(values: readonly string[]): PropertyDecorator {
  return applyDecorators(
    IsValid('isOneOfOrNull', orNull(oneOf(values))),
    ApiProperty({ type: String, nullable: true, enum: [...values, null] }),
  );
}

/** One of a few words, as a query parameter. */
export function IsFilter(values: readonly string[]): PropertyDecorator {
  return applyDecorators(IsValid('isFilter', once(oneOf(values))), ApiProperty({ enum: [...values] }));
}

const oneOf =
  (values: readonly string[]): Check =>
  (value) =>
    values.includes(value as string) ? null : `must be ${anyOf(values)}`;

/** Some of a few words, at least one, none twice. @param noun such as `a scope`. */
export function IsListOf(values: readonly string[], noun: string): PropertyDecorator {
  const check: Check = (value) => {
    if (!Array.isArray(value) || value.length === 0) return `must be a list with at least one of ${values.join(', ')}`;
    const unknown = (value as unknown[]).find((item) => !values.includes(item as string));
    if (unknown !== undefined) return `${shown(unknown)} is not ${noun}. Use ${anyOf(values)}`;
    const repeated = (value as string[]).find((item, index) => value.indexOf(item) < index);
    return repeated === undefined ? null : `must not name ${repeated} twice`;
  };
  // Not a copy: extensions add to the list of event kinds.
  const schema = ApiProperty({ enum: values as string[], isArray: true, minItems: 1, uniqueItems: true });
  return applyDecorators(IsValid('isListOf', check), schema);
}

/** Repeats only what reads like a misspelt word: another text may be a secret that was sent in the wrong field. */
const shown = (value: unknown): string =>
  typeof value === 'string' && /^[a-z]{1,20}([._: -][a-z]{1,20}){0,3}$/i.test(value)
    ? `"${value}"`
    : 'An item of the list';

/** A query parameter that is a UTC day that exists, `YYYY-MM-DD`. */
export function IsDay(): PropertyDecorator {
  const check: Check = (value) => {
    if (typeof value !== 'string') return 'must be a date, as YYYY-MM-DD';
    if (isDay(value)) return null;
    const day = /^(\d{4}-\d{2}-\d{2})[T ]/.exec(value)?.[1];
    return day !== undefined && isDay(day)
      ? `takes a day without a time: ${day}`
      : 'must be a date that exists, as YYYY-MM-DD';
  };
  return applyDecorators(IsValid('isDay', once(check)), ApiProperty({ format: 'date' }));
}

/** A query parameter that is an instant with a zone, as ISO 8601. */
export function IsInstant(): PropertyDecorator {
  const check: Check = (value) => {
    if (typeof value === 'string' && isInstant(value)) return null;
    return 'must be a time, as ISO 8601 with a zone, such as 2026-11-01T23:00:00Z';
  };
  return applyDecorators(IsValid('isInstant', once(check)), ApiProperty({ format: 'date-time' }));
}

/** An instant with a zone, as ISO 8601, later than now. */
export function IsFutureInstant(): PropertyDecorator {
  const check: Check = (value) => {
    if (typeof value === 'string' && isFutureInstant(value)) return null;
    return 'must be a time in the future, as ISO 8601 with a zone, such as 2030-01-31T12:00:00Z';
  };
  return IsValid('isFutureInstant', check);
}

/** A list of languages, by their English names. */
export function IsLanguages(): PropertyDecorator {
  return applyDecorators(
    IsValid('isLanguages', (value) => {
      const checked = checkLanguages(value);
      return checked.ok ? null : checked.reason;
    }),
    ApiProperty({
      type: 'array',
      minItems: 1,
      maxItems: MAX_LANGUAGES,
      items: { type: 'string' },
      example: ['english', 'german'],
    }),
  );
}

export const IsBoolean = (): PropertyDecorator =>
  IsValid('isBoolean', (value) => (typeof value === 'boolean' ? null : 'must be true or false'));

/** A list of networks as CIDRs, none twice. */
export function IsNetworks(): PropertyDecorator {
  return applyDecorators(
    IsValid('isNetworks', networksProblem),
    ApiProperty({ type: [String], minItems: 1, maxItems: MAX_NETWORKS, uniqueItems: true }),
  );
}

/** The terms of a vocabulary: a list of clean, short texts. */
export function IsVocabulary(): PropertyDecorator {
  return applyDecorators(
    IsValid('isVocabulary', (value) => {
      const checked = checkVocabulary(value);
      return checked.ok ? null : checked.reason;
    }),
    ApiProperty({
      type: 'array',
      maxItems: MAX_TERMS,
      items: { type: 'string', minLength: 1, maxLength: MAX_TERM_LENGTH },
      example: ['Grafana', 'Zoë'],
    }),
  );
}
