import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validate, type ValidationError as Violation } from 'class-validator';
import { type BrokenRule, InvalidRequestError } from '../../errors/errors.js';
import { JsonBody } from './json-body.js';

/**
 * Reads the body of a handler with a `@Body()` parameter: pipes run after the guards (D14). Turns bodies and queries into
 * their DTO and refuses unknown or invalid fields, naming the field and the rule.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  async transform(value: unknown, { type, metatype }: ArgumentMetadata): Promise<unknown> {
    const sent = type === 'body' && value instanceof JsonBody ? await value.read() : value;
    if ((type !== 'body' && type !== 'query') || metatype === undefined) return sent;
    const input = sent as Record<string, unknown>;
    const known = propertiesOf(metatype);
    const isKnown = (name: string): boolean => known.has(name) || isFamilyMember(metatype, name);
    const unknown = Object.keys(input).filter((name) => !isKnown(name));
    // A DTO without rules, such as NoQuery, is an error to class-validator.
    if (known.size === 0 && unknown.length === 0) return input;
    // Known fields only: ten thousand unknown names would block the transformer for a quarter of a second.
    const accepted = Object.fromEntries(Object.entries(input).filter(([name]) => isKnown(name)));
    const dto = instanceOf(metatype, accepted);
    const violations = known.size > 0 ? await validate(dto, { stopAtFirstError: true }) : [];
    const what = type === 'body' ? 'field' : 'parameter';
    const [first, ...others] = [
      ...unknown.map((field) => ({ field: field.toWellFormed(), reason: `is not a ${what} of this operation` })),
      ...violations.flatMap(brokenRules),
      ...brokenMembers(metatype, accepted),
    ];
    if (first) throw new InvalidRequestError(first, ...others);
    return dto;
  }
}

/** Lists and objects stay as they were sent: the transformer loses their key `__proto__`, and fails on `constructor`. */
function instanceOf(dto: Type, input: Record<string, unknown>): object {
  const entries = Object.entries(input);
  const isPlain = ([, value]: [string, unknown]): boolean => typeof value !== 'object' || value === null;
  const plain = plainToInstance(dto, Object.fromEntries(entries.filter(isPlain)), {
    exposeDefaultValues: true,
  }) as object;
  return Object.assign(plain, Object.fromEntries(entries.filter((entry) => !isPlain(entry))));
}

const properties = new Map<Type, ReadonlySet<string>>();

/** From class-validator's metadata: a property without a rule cannot be sent. */
function propertiesOf(dto: Type): ReadonlySet<string> {
  let known = properties.get(dto);
  if (!known) {
    const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
    known = new Set(rules.map((rule) => rule.propertyName));
    properties.set(dto, known);
  }
  return known;
}

/** Messages of rules begin with the property's name; a reason stands without it. */
function brokenRules({ property, constraints }: Violation): BrokenRule[] {
  return Object.values(constraints ?? {}).map((message) => ({
    field: property,
    reason: message.startsWith(`${property} `) ? message.slice(property.length + 1) : message,
  }));
}

/** Query parameters that share the beginning of their names, of which a client chooses the rest. */
interface ParameterFamily {
  prefix: string;
  /** The most that may be given. */
  maximum: number;
  /** What is wrong with one, in words that follow its name; null when nothing is. */
  check: (rest: string, value: string) => string | null;
}

const families = new Map<Type, ParameterFamily>();

/** The DTO gets each of them as a property of its own. */
export function TakesFamily(family: ParameterFamily): ClassDecorator {
  return (dto) => void families.set(dto as unknown as Type, family);
}

function isFamilyMember(dto: Type, name: string): boolean {
  const family = families.get(dto);
  return family !== undefined && name.startsWith(family.prefix);
}

function brokenMembers(dto: Type, input: Record<string, unknown>): BrokenRule[] {
  const family = families.get(dto);
  if (!family) return [];
  const { prefix, maximum, check } = family;
  const members = Object.entries(input).filter(([name]) => name.startsWith(prefix));
  const [surplus] = members[maximum] ?? [];
  if (surplus !== undefined)
    return [{ field: surplus, reason: `is one too many: at most ${maximum} begin with ${prefix}` }];
  return members.flatMap(([field, value]) => {
    const reason = typeof value === 'string' ? check(field.slice(prefix.length), value) : 'may be given only once';
    return reason === null ? [] : [{ field, reason }];
  });
}

/**
 * The query of a handler that takes no parameters: `@Query() _query: NoQuery`. Any parameter is refused, so that a
 * misspelt one is never ignored (D16).
 */
export class NoQuery {}
