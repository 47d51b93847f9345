import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiQueryOptions, ApiSchema } from '@nestjs/swagger';
import { InvalidRequestError } from '../../platform/errors/errors.js';
import { together } from '../../platform/http/openapi.js';
import { TakesFamily } from '../../platform/http/input/request-validation.pipe.js';
import {
  IsDay,
  IsFilter,
  IsInstant,
  IsLanguages,
  IsOmittable,
  IsSpeakersOrNull,
  IsText,
  IsTextFilter,
  IsValid,
  IsVocabulary,
} from '../../platform/http/input/rules.js';
import { PageQuery } from '../../platform/http/page.js';
import type { Speakers } from '../../platform/speakers.js';
import { type Inclusion, INCLUSIONS } from './recording-inclusions.service.js';
import { type Recording, RECORDING_STATUSES, type RecordingStatus } from './recording.entity.js';
import { MAX_QUERY_LENGTH } from './search/search-query.js';
import { brokenTagRule, MAX_TAGS, parseCustomTags } from './upload/custom-tags.js';
import { checkTitle, MAX_TITLE_LENGTH } from './upload/upload-fields.js';

const TAG = 'tag.';

const RECORDING_ORDERS = ['newest', 'oldest', 'longest', 'shortest', 'rank'] as const;
export type RecordingOrder = (typeof RECORDING_ORDERS)[number];
export type TimeOrder = 'newest' | 'oldest';
/** Of recordings that are as long, the newest is first in `longest`, and last in `shortest`. */
export type LengthOrder = 'longest' | 'shortest';
/** Recordings that can be listed by their length, so that no page reads more of an account than that. */
export const MAX_BY_LENGTH = 10_000;

/** Names with commas between them (D54). */
function IsInclusions(names: readonly Inclusion[]): PropertyDecorator {
  const name = `(${names.join('|')})`;
  const pattern = new RegExp(`^${name}(,${name})*$`);
  const check = (value: unknown): string | null => {
    if (Array.isArray(value)) return 'may be given only once, with commas between names';
    const fits = typeof value === 'string' && pattern.test(value);
    return fits ? null : `must be names with commas between them, of ${names.join(', ')}`;
  };
  return applyDecorators(
    IsValid('isInclusions', check),
    ApiProperty({ pattern: pattern.source, example: names.join(',') }),
  );
}

@TakesFamily({ prefix: TAG, maximum: MAX_TAGS, check: brokenTagRule })
export class ListRecordingsQuery extends PageQuery {
  /** Lists only recordings with this status. */
  @IsOmittable()
  @IsFilter(RECORDING_STATUSES)
  status?: RecordingStatus;

  /**
   * First day of creation (UTC), inclusive.
   * @example 2026-11-01
   */
  @IsOmittable()
  @IsDay()
  date_from?: string;

  /**
   * Last day of creation (UTC), inclusive.
   * @example 2026-11-30
   */
  @IsOmittable()
  @IsDay()
  date_to?: string;

  /**
   * Lists only recordings created at this time or later, such as the start of a day of another time zone.
   * @example 2026-10-31T23:00:00Z
   */
  @IsOmittable()
  @IsInstant()
  created_from?: string;

  /**
   * Lists only recordings created before this time.
   * @example 2026-11-30T23:00:00Z
   */
  @IsOmittable()
  @IsInstant()
  created_before?: string;

  /**
   * Lists only recordings of this end user.
   * @example user-4711
   */
  @IsOmittable()
  @IsTextFilter(1, 255)
  user_id?: string;

  /**
   * Words of the transcription, the title or the values of tags, at most 50: all of them, `"a phrase"`, `or` between
   * alternatives, `-word` for those without it. The last word may be the beginning of one. Case and accents do not matter.
   * Each result has a `snippet`.
   * @example delivery late
   */
  @IsOmittable()
  @IsTextFilter(1, MAX_QUERY_LENGTH)
  q?: string;

  /**
   * Order of the results; by default the newest first. `longest` and `shortest` give the first 10,000. `rank`, only with `q`:
   * the best of the newest 10,000 first.
   */
  @IsOmittable()
  @IsFilter(RECORDING_ORDERS)
  order?: RecordingOrder;

  /**
   * Parts to add to each recording, separated by commas: its `title`, and a `snippet` also without `q`, which is then the
   * beginning of the text.
   */
  @IsOmittable()
  @IsInclusions(['title', 'snippet'])
  include?: string;
}

export const TAG_FILTERS: ApiQueryOptions = {
  name: 'tags',
  required: false,
  style: 'form',
  explode: true,
  description: 'Lists only recordings with these tags: `tag.{key}={value}`, once for each key.',
  schema: { type: 'object', additionalProperties: { type: 'string', maxLength: 128 } },
  example: { 'tag.ticket': 'T-1042' },
};

/** The tags that are asked for, by key. */
export function tagFiltersOf(query: ListRecordingsQuery): Record<string, string> {
  const given = Object.entries(query as unknown as Record<string, string>).filter(([name]) => name.startsWith(TAG));
  return Object.fromEntries(given.map(([name, value]) => [name.slice(TAG.length), value]));
}

/** Whether the page is found by words or tags, and not by the counters of the list. */
export const isSearch = (query: ListRecordingsQuery): boolean =>
  query.q !== undefined || Object.keys(tagFiltersOf(query)).length > 0;

/** The order of a list that is not by length. */
export const timeOrder = ({ order }: Pick<ListRecordingsQuery, 'order'>): TimeOrder =>
  order === 'oldest' ? 'oldest' : 'newest';

/** The order of a list by length; null by any other. */
export const lengthOrder = ({ order }: Pick<ListRecordingsQuery, 'order'>): LengthOrder | null =>
  order === 'longest' || order === 'shortest' ? order : null;

/** @throws InvalidRequestError when a rank is asked for without words, or a page behind the last by length. */
export function checkOrder(query: ListRecordingsQuery): void {
  const { q, order, page, limit } = query;
  if (order === 'rank' && q === undefined) {
    throw new InvalidRequestError({ field: 'order', reason: 'may be rank only with q' });
  }
  const pages = Math.ceil(MAX_BY_LENGTH / limit);
  if (lengthOrder(query) !== null && page >= pages) {
    const reason = `must be below ${pages} with order=${order} and limit=${limit}, which ends at 10,000 recordings`;
    throw new InvalidRequestError({ field: 'page', reason });
  }
}

export const tooManyForLength = (order: LengthOrder): InvalidRequestError =>
  new InvalidRequestError({
    field: 'order',
    reason: `${order} cannot sort that many matches: with fewer days or another filter, at most 10,000`,
  });

/** @throws InvalidRequestError when the times are the wrong way round. */
export function checkInstants({ created_from: from, created_before: before }: ListRecordingsQuery): void {
  if (from !== undefined && before !== undefined && Date.parse(from) > Date.parse(before)) {
    throw new InvalidRequestError({ field: 'created_from', reason: 'must not be after created_before' });
  }
}

export class GetRecordingQuery {
  /** Parts to include, separated by commas. */
  @IsOmittable()
  @IsInclusions(INCLUSIONS)
  include?: string;
}

export const inclusionsOf = ({ include }: Pick<GetRecordingQuery, 'include'>): Inclusion[] => [
  ...new Set((include?.split(',') ?? []) as Inclusion[]),
];

function IsTitle(): PropertyDecorator {
  return applyDecorators(
    IsValid('isTitle', (value) => (value === null ? null : checkTitle(value))),
    ApiProperty({ type: String, nullable: true, minLength: 1, maxLength: MAX_TITLE_LENGTH }),
  );
}

function IsCustomTags(): PropertyDecorator {
  const check = (value: unknown): string | null => {
    if (value === null) return null;
    const tags = parseCustomTags(JSON.stringify(value));
    return tags.ok ? null : tags.reason;
  };
  return applyDecorators(
    IsValid('isCustomTags', check),
    ApiProperty({ type: 'object', nullable: true, additionalProperties: { type: 'string', maxLength: 128 } }),
  );
}

/** All of it goes into the schema, though the type names the description alone. */
const SOMETHING = { description: 'At least one of the fields.', minProperties: 1 };

@ApiSchema(SOMETHING)
export class UpdateRecordingDto {
  /**
   * What to call the recording; null: as its file.
   * @example Call with the north gate
   */
  @IsOmittable()
  @IsTitle()
  title?: string | null;

  /**
   * Your own tags, in place of those that it has; null removes them.
   * @example {"ticket":"T-1042"}
   */
  @IsOmittable()
  @IsCustomTags()
  custom_tags?: Record<string, string> | null;
}

/** What is to be changed, as it is stored. @throws InvalidRequestError when nothing is given. */
export function labelsOf({
  title,
  custom_tags: tags,
}: UpdateRecordingDto): Partial<Pick<Recording, 'title' | 'customTags'>> {
  if (title === undefined && tags === undefined) {
    throw new InvalidRequestError({ field: 'title', reason: 'is required, or custom_tags' });
  }
  return {
    ...(title !== undefined && { title }),
    ...(tags !== undefined && { customTags: tags && JSON.stringify(tags) }),
  };
}

/** All of it goes into the schema, though the type names the description alone. */
const NOT_BOTH = { description: '`language` or `languages`, not both.', not: together('language', 'languages') };

@ApiSchema(NOT_BOTH)
export class TranscribeAgainDto {
  /** Engine to use, by its name. By default as configured. */
  @IsOmittable()
  @IsText(1, 100)
  @ApiProperty({ example: 'pocketsphinx' })
  engine?: string;

  /** English name of the language spoken. By default as before. */
  @IsOmittable()
  @IsText(1, 100)
  @ApiProperty({ example: 'english' })
  language?: string;

  /** English names of the languages spoken, of which each part of the audio is in one. In place of `language`. */
  @IsOmittable()
  @IsLanguages()
  languages?: string[];

  /** Names and words to expect, the most important first. By default as before; an empty list removes them. */
  @IsOmittable()
  @IsVocabulary()
  vocabulary?: string[];

  /** Speakers to tell apart: a number, or `auto` for as many as there are. By default as before; null: none. */
  @IsOmittable()
  @IsSpeakersOrNull()
  @ApiProperty({ example: 'auto' })
  speakers?: Speakers | null;
}
