import { ApiProperty } from '@nestjs/swagger';
import { IsOmittable, IsValid } from '../../../platform/http/input/rules.js';
import { type Inclusion, INCLUSIONS } from './recording-inclusions.service.js';

const NAME = `(${INCLUSIONS.join('|')})`;
const NAMES = new RegExp(`^${NAME}(,${NAME})*$`);

function checkNames(value: unknown): string | null {
  if (Array.isArray(value)) return 'may be given only once, with commas between names';
  const fits = typeof value === 'string' && NAMES.test(value);
  return fits ? null : `must be names with commas between them, of ${INCLUSIONS.join(', ')}`;
}

export class GetRecordingQuery {
  /** Parts to include, separated by commas. */
  @IsOmittable()
  @IsValid('isInclusions', checkNames)
  @ApiProperty({ pattern: NAMES.source, example: INCLUSIONS.join(',') })
  include?: string;
}

export const inclusionsOf = ({ include }: GetRecordingQuery): Inclusion[] => [
  ...new Set((include?.split(',') ?? []) as Inclusion[]),
];
