import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validate, type ValidationError as Violation } from 'class-validator';
import { type BrokenRule, InvalidRequestError } from '../../errors/errors.js';
import { brokenMembers, isFamilyMember } from './parameter-family.js';

/** Turns bodies and queries into their DTO and refuses unknown or invalid fields, naming the field and the rule. */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  async transform(value: unknown, { type, metatype }: ArgumentMetadata): Promise<unknown> {
    if ((type !== 'body' && type !== 'query') || metatype === undefined) return value;
    const input = value as Record<string, unknown>;
    const known = propertiesOf(metatype);
    const isKnown = (name: string): boolean => known.has(name) || isFamilyMember(metatype, name);
    const unknown = Object.keys(input).filter((name) => !isKnown(name));
    // A DTO without rules, such as NoQuery, is an error to class-validator.
    if (known.size === 0 && unknown.length === 0) return input;
    // Known fields only: ten thousand unknown names would block the transformer for a quarter of a second.
    const accepted = Object.fromEntries(Object.entries(input).filter(([name]) => isKnown(name)));
    const dto = plainToInstance(metatype, accepted, { exposeDefaultValues: true }) as object;
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
