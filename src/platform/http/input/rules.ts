import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ValidateBy } from 'class-validator';

/** Cc is C0, DEL and C1: they corrupt logs and terminals, and Postgres refuses NUL. */
const CONTROL_CHARACTERS = /\p{Cc}/u;

/** Text that can be stored and shown: no control characters, no lone surrogates. */
export const isCleanText = (value: string): boolean => !CONTROL_CHARACTERS.test(value) && value.isWellFormed();

/** Clean text of `min` to `max` code points; where some is wanted, blanks alone will not do. */
export function IsText(min: number, max: number): PropertyDecorator {
  const rule = ValidateBy({
    name: 'isText',
    validator: {
      validate(value: unknown): boolean {
        if (typeof value !== 'string' || !isCleanText(value)) return false;
        const { length } = [...value];
        return length >= min && length <= max && (min === 0 || value.trim() !== '');
      },
      defaultMessage: () => `$property must be text of ${min} to ${max} characters, without control characters`,
    },
  });
  return applyDecorators(rule, ApiProperty({ minLength: min, maxLength: max }));
}

/** A query parameter written as a plain decimal integer; anything else stays text and breaks the integer rule. */
export const AsInteger = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value,
  );

/** A UTC day that exists, `YYYY-MM-DD`. */
export function IsDay(): PropertyDecorator {
  const rule = ValidateBy({
    name: 'isDay',
    validator: {
      validate: (value: unknown): boolean => typeof value === 'string' && isDay(value),
      defaultMessage: () => '$property must be a date that exists, as YYYY-MM-DD',
    },
  });
  return applyDecorators(rule, ApiProperty({ format: 'date' }));
}

/** `new Date('2026-02-30')` is 2 March, so the day is written back and compared. Postgres has no year 0. */
function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

/** An instant with a zone, as ISO 8601, later than now. */
export function IsFutureInstant(): PropertyDecorator {
  return ValidateBy({
    name: 'isFutureInstant',
    validator: {
      validate: (value: unknown): boolean => typeof value === 'string' && isFutureInstant(value),
      defaultMessage: () => '$property must be a time in the future, as ISO 8601 such as 2030-01-31T12:00:00Z',
    },
  });
}

const INSTANT = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/** Years have four digits on the wire, and 9999-12-31T23:59-23:59 lies beyond them. */
const YEAR_10000 = Date.UTC(10_000, 0);

/** Whether `text` is an instant with a zone, as ISO 8601, later than now. */
export function isFutureInstant(text: string): boolean {
  const [, day] = INSTANT.exec(text) ?? [];
  const time = Date.parse(text);
  return day !== undefined && isDay(day) && time > Date.now() && time < YEAR_10000;
}
