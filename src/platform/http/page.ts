import { ApiProperty } from '@nestjs/swagger';
import { InvalidRequestError } from '../errors/errors.js';
import { IsIntegerParameter, IsOmittable } from './input/rules.js';

const MAX_PAGE = 1_000_000_000;
const MAX_LIMIT = 100;

/** The two parameters that every list takes (D16); lists add their filters in a subclass. */
export class PageQuery {
  /** Page number; 0 is the first page. */
  @IsOmittable()
  @IsIntegerParameter(0, MAX_PAGE)
  page: number = 0;

  /** Number of results on a page. */
  @IsOmittable()
  @IsIntegerParameter(1, MAX_LIMIT)
  limit: number = 50;
}

/** What a service returns for a list: the items of one page, and the number of items on all pages. */
export interface PageResult<Item> {
  items: Item[];
  total: number;
  /** Whether another page follows, where `total` does not tell. */
  hasMore?: boolean;
}

/** The seven fields of every page in addition to the collection (docs/interface.md, section 5). */
export class PageFields {
  /** Path of this page. */
  @ApiProperty({ example: '/v1/recordings?page=0&limit=50' })
  uri: string;

  /** Path of the first page. */
  @ApiProperty({ example: '/v1/recordings?page=0&limit=50' })
  first_page_uri: string;

  /** Path of the next page; null on the last page. */
  @ApiProperty({ type: String, nullable: true, example: null })
  next_page_uri: string | null;

  /** Path of the previous page; null on the first page. */
  @ApiProperty({ type: String, nullable: true, example: null })
  previous_page_uri: string | null;

  /** Number of this page; 0 is the first page. */
  @ApiProperty({ type: 'integer', example: 0 })
  page: number;

  /** Number of results in this response. */
  @ApiProperty({ type: 'integer', example: 1 })
  page_size: number;

  /** Number of results on all pages. */
  @ApiProperty({ type: 'integer', example: 1 })
  total: number;
}

/** @param query page, limit and the filters in use: all of them go into the page URIs (D17). */
export function pageFields(path: string, query: PageQuery, found: PageResult<unknown>): PageFields {
  const { page, limit, ...filters } = query;
  const uriOf = (number: number): string => {
    const used = Object.entries(filters).filter(([, value]) => value !== undefined) as [string, string][];
    const parameters = new URLSearchParams([['page', `${number}`], ['limit', `${limit}`], ...used]);
    return `${path}?${parameters.toString()}`;
  };
  return {
    uri: uriOf(page),
    first_page_uri: uriOf(0),
    next_page_uri: (found.hasMore ?? (page + 1) * limit < found.total) ? uriOf(page + 1) : null,
    previous_page_uri: page > 0 ? uriOf(page - 1) : null,
    page,
    page_size: found.items.length,
    total: found.total,
  };
}

/** UTC days, both inclusive (D18). */
export interface DayRange {
  date_from?: string;
  date_to?: string;
}

/** @throws InvalidRequestError when the first day comes after the last. */
export function checkDays({ date_from, date_to }: DayRange): void {
  if (date_from !== undefined && date_to !== undefined && date_from > date_to) {
    throw new InvalidRequestError({ field: 'date_from', reason: 'must not be after date_to' });
  }
}
