import type { VoiceNotes } from 'vnotes';

import { beginningOf, instantOf, readDay } from '../../format/local-day';

export type RecordingsQuery = NonNullable<Parameters<VoiceNotes['recordings']['list']>[0]>;

export type Status = 'processing' | 'transcribed' | 'failed';

/** `rank`: the best match first, with `q` only. */
export type Order = 'newest' | 'oldest' | 'longest' | 'shortest' | 'rank';

/** What the list is narrowed to, as the address says it. */
export interface ListQuery {
  q: string;
  order: Order;
  status: Status | '';
  /** Days where the person is, both inclusive; empty for no limit. */
  from: string;
  to: string;
  user: string;
  tags: [key: string, value: string][];
  page: number;
}

const STATUSES = ['processing', 'transcribed', 'failed'] as const;
const ORDERS = ['newest', 'oldest', 'longest', 'shortest', 'rank'] as const;
/** That the service lists by length. */
export const MAX_BY_LENGTH = 10_000;
export const PAGE_SIZE = 50;

export function readQuery(search: URLSearchParams): ListQuery {
  return {
    q: search.get('q') ?? '',
    order: ORDERS.find((order) => order === search.get('order')) ?? 'newest',
    status: STATUSES.find((status) => status === search.get('status')) ?? '',
    from: readDay(search.get('from')),
    to: readDay(search.get('to')),
    user: search.get('user') ?? '',
    tags: search.getAll('tag').flatMap((tag) => (tagOf(tag) ? [tagOf(tag) as [string, string]] : [])),
    page: Math.max(0, Math.floor(Number(search.get('page') ?? 1)) - 1) || 0,
  };
}

/** People count pages from 1. */
export function writeQuery(query: ListQuery): URLSearchParams {
  const search = new URLSearchParams();
  const put = (name: string, value: string) => value !== '' && search.append(name, value);
  put('q', query.q);
  put('order', query.order === 'newest' || (query.order === 'rank' && query.q === '') ? '' : query.order);
  put('status', query.status);
  put('from', query.from);
  put('to', query.to);
  put('user', query.user);
  for (const [key, value] of query.tags) put('tag', `${key}=${value}`);
  put('page', query.page > 0 ? String(query.page + 1) : '');
  return search;
}

/** `ticket=T-1042`; null when it is none. */
export function tagOf(text: string): [string, string] | null {
  const at = text.indexOf('=');
  const [key, value] = [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  return at > 0 && key !== '' && value !== '' ? [key, value] : null;
}

/** With one value of each key: the service takes no two. */
export const withTag = (tags: ListQuery['tags'], key: string, value: string): ListQuery['tags'] => [
  ...tags.filter(([other]) => other !== key),
  [key, value],
];

export function isFiltered({ q, status, from, to, user, tags }: ListQuery): boolean {
  return hasWords(q) || [status, from, to, user].some((text) => text !== '') || tags.length > 0;
}

export const isByLength = ({ order }: Pick<ListQuery, 'order'>): boolean => order === 'longest' || order === 'shortest';

/** Tells one list from another, whatever the page. */
export const filterOf = (query: ListQuery): string => writeQuery({ ...query, page: 0 }).toString();

/** What the service is asked for. */
export function requestOf(query: ListQuery): RecordingsQuery {
  const isSearch = hasWords(query.q);
  return {
    page: query.page,
    limit: PAGE_SIZE,
    include: 'title,snippet',
    ...(isSearch && { q: query.q.slice(0, 1000) }),
    ...((isSearch || query.order !== 'rank') && query.order !== 'newest' && { order: query.order }),
    ...(query.status && { status: query.status }),
    ...(query.from && { created_from: instantOf(beginningOf(query.from)) }),
    ...(query.to && { created_before: instantOf(beginningOf(query.to, 1)) }),
    ...(query.user && { user_id: query.user }),
    ...(query.tags.length > 0 && { tags: Object.fromEntries(query.tags) }),
  };
}

/** The service refuses a search without a letter or a digit; the person may not have typed it yet. */
function hasWords(q: string): boolean {
  return /[\p{L}\p{N}]/u.test(q);
}

/** A search counts up to a bound only. */
export function isExact(page: object): boolean {
  return !('total_is_exact' in page) || page.total_is_exact === true;
}
