import type { Type } from '@nestjs/common';
import type { BrokenRule } from '../../errors/errors.js';

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

export function isFamilyMember(dto: Type, name: string): boolean {
  const family = families.get(dto);
  return family !== undefined && name.startsWith(family.prefix);
}

export function brokenMembers(dto: Type, input: Record<string, unknown>): BrokenRule[] {
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
