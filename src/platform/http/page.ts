import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { AsInteger } from './input/rules.js';

const MAX_PAGE = 1_000_000_000;
const MAX_LIMIT = 100;

/** The two parameters that every list takes (D16); lists add their filters in a subclass. */
export class PageQuery {
  /** Page number, 0-indexed. */
  @ApiPropertyOptional({ type: 'integer' })
  @IsOptional()
  @AsInteger()
  @IsInt({ message: `$property must be an integer from 0 to ${MAX_PAGE}` })
  @Min(0, { message: `$property must be an integer from 0 to ${MAX_PAGE}` })
  @Max(MAX_PAGE, { message: `$property must be an integer from 0 to ${MAX_PAGE}` })
  page: number = 0;

  /** Results on a page. */
  @ApiPropertyOptional({ type: 'integer' })
  @IsOptional()
  @AsInteger()
  @IsInt({ message: `$property must be an integer from 1 to ${MAX_LIMIT}` })
  @Min(1, { message: `$property must be an integer from 1 to ${MAX_LIMIT}` })
  @Max(MAX_LIMIT, { message: `$property must be an integer from 1 to ${MAX_LIMIT}` })
  limit: number = 50;
}

/** What a service answers to a list: the items of one page, and how many there are on all pages. */
export interface PageResult<Item> {
  items: Item[];
  total: number;
}

/** The seven fields that stand beside the collection in every page (docs/interface.md, Pages). */
export class PageFields {
  @ApiProperty({ example: '/v1/recordings?page=0&limit=50' })
  uri: string;

  @ApiProperty({ example: '/v1/recordings?page=0&limit=50' })
  first_page_uri: string;

  /** Null on the last page. */
  next_page_uri: string | null;
  /** Null on the first page. */
  previous_page_uri: string | null;
  /** 0-indexed. */
  @ApiProperty({ type: 'integer' })
  page: number;
  /** Number of results in this response. */
  @ApiProperty({ type: 'integer' })
  page_size: number;
  /** Number of all matching resources. */
  @ApiProperty({ type: 'integer' })
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
    next_page_uri: (page + 1) * limit < found.total ? uriOf(page + 1) : null,
    previous_page_uri: page > 0 ? uriOf(page - 1) : null,
    page,
    page_size: found.items.length,
    total: found.total,
  };
}
