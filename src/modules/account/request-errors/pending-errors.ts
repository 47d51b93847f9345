import { redactSecrets } from '../../../platform/secrets/redact-secrets.js';
import { MAX_REQUEST_IDS } from './request-errors.queries.js';
import type { RequestError } from './request-error.entity.js';

/** Groups of all accounts, which bounds memory while Postgres does not answer. */
const MAX_GROUPS = 10_000;
const MAX_FIELD = 100;
const MAX_MESSAGE = 500;

/** One refused request. */
export interface Refusal extends Pick<
  RequestError,
  'accountId' | 'operation' | 'status' | 'code' | 'type' | 'message'
> {
  /** Null when the error names none. */
  field: string | null;
  requestId: string;
  at: Date;
}

/** Groups of refused requests that are not written yet. */
export class PendingErrors {
  private groups = new Map<string, RequestError>();
  private groupsOf = new Map<string, number>();

  /** @param groupsPerAccount more of an account are not told apart from each other until these are taken. */
  constructor(private readonly groupsPerAccount: number) {}

  get size(): number {
    return this.groups.size;
  }

  /** @returns false when there is no room for another group. */
  add({ field, requestId, at, message, ...refusal }: Refusal): boolean {
    const text = { field: field === null ? '' : cleaned(field, MAX_FIELD), message: cleaned(message, MAX_MESSAGE) };
    const day = at.toISOString().slice(0, 'YYYY-MM-DD'.length);
    return this.merge({ ...refusal, ...text, day, count: 1, firstAt: at, lastAt: at, requestIds: [requestId] });
  }

  /** @returns all groups, which are no longer pending. */
  take(): RequestError[] {
    const taken = [...this.groups.values()];
    this.groups = new Map();
    this.groupsOf = new Map();
    return taken;
  }

  /** Puts back what could not be written. @returns how many requests have no room any more. */
  restore(groups: readonly RequestError[]): number {
    return groups.filter((group) => !this.merge(group)).reduce((sum, { count }) => sum + count, 0);
  }

  private merge(group: RequestError): boolean {
    const { accountId, day, operation, status, code, field } = group;
    const key = [accountId, day, operation, status, code, field].join('\n');
    const known = this.groups.get(key);
    if (known) {
      this.groups.set(key, sumOf(known, group));
      return true;
    }
    const others = this.groupsOf.get(accountId) ?? 0;
    if (others >= this.groupsPerAccount || this.groups.size >= MAX_GROUPS) return false;
    this.groups.set(key, group);
    this.groupsOf.set(accountId, others + 1);
    return true;
  }
}

function sumOf(a: RequestError, b: RequestError): RequestError {
  const [earlier, later] = a.lastAt <= b.lastAt ? [a, b] : [b, a];
  return {
    ...later,
    count: a.count + b.count,
    firstAt: a.firstAt <= b.firstAt ? a.firstAt : b.firstAt,
    requestIds: [...later.requestIds, ...earlier.requestIds].slice(0, MAX_REQUEST_IDS),
  };
}

/** Postgres takes no NUL, and half of a character is none. */
function cleaned(text: string, maxLength: number): string {
  const printable = redactSecrets(text.replace(/\p{Cc}/gu, '�'));
  return printable.slice(0, maxLength).toWellFormed();
}
