import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsValid, textOf } from '../../platform/http/input/rules.js';
import { SPEAKER_LABEL } from './text/turns.js';

/** The name of one speaker; null: none. */
export interface SpeakerNameItem {
  speaker: string;
  name: string | null;
}

const MAX_SPEAKERS = 100;
const MAX_NAME_LENGTH = 100;
const checkName = textOf(1, MAX_NAME_LENGTH);

function problemOfItem(item: unknown): string | null {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return ' must be an object';
  const { speaker, name, ...others } = item as Record<string, unknown>;
  if (Object.keys(others).length > 0) return ' must have no fields but speaker and name';
  if (typeof speaker !== 'string' || !SPEAKER_LABEL.test(speaker)) return '.speaker must be a label, such as A';
  if (name === undefined) return '.name is required';
  const problem = name === null ? null : checkName(name);
  return problem && `.name ${problem}, or null`;
}

function problemOf(value: unknown): string | null {
  if (!Array.isArray(value)) return 'must be a list of speakers with their names';
  if (value.length > MAX_SPEAKERS) return `must have at most ${MAX_SPEAKERS} items; this has ${value.length}`;
  const labels = new Set<unknown>();
  for (const [index, item] of (value as unknown[]).entries()) {
    const problem = problemOfItem(item);
    if (problem !== null) return `has a wrong item: speakers[${index}]${problem}`;
    const { speaker } = item as SpeakerNameItem;
    if (labels.has(speaker)) return `must not name ${speaker} twice`;
    labels.add(speaker);
  }
  return null;
}

function IsSpeakerNames(): PropertyDecorator {
  const item = {
    type: 'object',
    required: ['speaker', 'name'],
    additionalProperties: false,
    properties: {
      speaker: { type: 'string', pattern: SPEAKER_LABEL.source, description: 'Label, as words have it.' },
      name: { type: 'string', nullable: true, minLength: 1, maxLength: MAX_NAME_LENGTH },
    },
  };
  return applyDecorators(
    IsValid('isSpeakerNames', problemOf),
    ApiProperty({ type: 'array', maxItems: MAX_SPEAKERS, items: item }),
  );
}

export class NameSpeakersDto {
  /**
   * What to call the speakers, in place of all names that they have. Those that are left out have none. Speakers with the
   * same name are shown as one person.
   * @example [{"speaker":"A","name":"Ada"},{"speaker":"B","name":"Grace"}]
   */
  @IsSpeakerNames()
  speakers: SpeakerNameItem[];
}
