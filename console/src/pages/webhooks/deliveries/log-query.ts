import type { Delivery } from 'vnotes';

import { api } from '../../../session/api';

export const PAGE_SIZE = 20;

/** What the log is narrowed to, as the address says it. */
export interface LogQuery {
  status: Delivery['status'] | '';
  /** Days in UTC, as a date input has them; empty for no bound. */
  from: string;
  to: string;
  /** From 0; in the address from 1. */
  page: number;
}

export type Log = Awaited<ReturnType<typeof loadLog>>;

const STATUSES = ['pending', 'delivered', 'failed'] as const;

export function readLogQuery(search: URLSearchParams): LogQuery {
  return {
    status: STATUSES.find((status) => status === search.get('status')) ?? '',
    from: search.get('from') ?? '',
    to: search.get('to') ?? '',
    page: Math.max(0, Math.floor(Number(search.get('page') ?? 1)) - 1) || 0,
  };
}

export function writeLogQuery({ status, from, to, page }: LogQuery): URLSearchParams {
  const fields = { status, from, to, page: page > 0 ? String(page + 1) : '' };
  return new URLSearchParams(Object.entries(fields).filter(([, value]) => value !== ''));
}

export function isFiltered({ status, from, to }: LogQuery): boolean {
  return [status, from, to].some((value) => value !== '');
}

export function loadLog(id: string, { status, from, to, page }: LogQuery, signal: AbortSignal) {
  const range = { ...(from && { date_from: from }), ...(to && { date_to: to }) };
  const query = { page, limit: PAGE_SIZE, ...(status && { status }), ...range };
  return api().webhooks.deliveries(id, query, { signal });
}
