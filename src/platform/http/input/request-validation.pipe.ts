import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, validate, type ValidationError as Violation } from 'class-validator';
import { type BrokenRule, InvalidRequestError } from '../../errors/errors.js';

/** Turns bodies and queries into their DTO, and refuses what the DTO does not name or allow, naming field and rule. */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  async transform(value: unknown, { type, metatype }: ArgumentMetadata): Promise<unknown> {
    if ((type !== 'body' && type !== 'query') || metatype === undefined) return value;
    const input = value as Record<string, unknown>;
    const known = propertiesOf(metatype);
    const unknown = Object.keys(input).filter((name) => !known.has(name));
    // Only what is known: ten thousand strange names would keep the transformer busy for a quarter of a second.
    const accepted = Object.fromEntries(Object.entries(input).filter(([name]) => known.has(name)));
    const dto = plainToInstance(metatype, accepted, { exposeDefaultValues: true }) as object;
    const violations = await validate(dto, { stopAtFirstError: true });
    const what = type === 'body' ? 'field' : 'parameter';
    const [first, ...others] = [
      ...unknown.map((field) => ({ field: field.toWellFormed(), reason: `is not a ${what} of this operation` })),
      ...violations.flatMap(brokenRules),
    ];
    if (first) throw new InvalidRequestError(first, ...others);
    return dto;
  }
}

/** Read from class-validator's own table: a property without a rule cannot be sent. */
function propertiesOf(dto: Type): Set<string> {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  return new Set(rules.map((rule) => rule.propertyName));
}

/** Messages of rules begin with the property's name; a reason stands without it. */
function brokenRules({ property, constraints }: Violation): BrokenRule[] {
  return Object.values(constraints ?? {}).map((message) => ({
    field: property,
    reason: message.startsWith(`${property} `) ? message.slice(property.length + 1) : message,
  }));
}
