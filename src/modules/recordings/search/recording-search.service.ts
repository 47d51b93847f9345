import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit } from '../../../platform/concurrency/concurrency-limit.js';
import { DatabaseService, type Tx } from '../../../platform/database/database.service.js';
import { InvalidRequestError, RateLimitError } from '../../../platform/errors/errors.js';
import type { PageResult } from '../../../platform/http/page.js';
import type { Recording } from '../recording.entity.js';
import {
  inclusionsOf,
  type LengthOrder,
  lengthOrder,
  type ListRecordingsQuery,
  tagFiltersOf,
  type TimeOrder,
  timeOrder,
  tooManyForLength,
} from '../recordings.dto.js';
import {
  bestStatement,
  deleteTagDocument,
  type DocumentFilter,
  limitSearch,
  type MatchedRecording,
  matchesStatement,
  MAX_COUNTED,
  selectBeginnings,
  selectMatches,
  selectTagged,
  type Slice,
  walkStatement,
  writeDocument,
} from './recording-search.queries.js';
import { SearchBackfillService } from './search-backfill.service.js';
import { indexQuery, parseQuery, phraseConditions, rankQuery, type SearchQuery } from './search-query.js';
import { AccountTerms, quoted, type TaggedRecording, tagTerms, textTerms } from './search-terms.js';
import { beginningOf, MAX_BEGINNING, snippetOf } from './snippet.js';

/** A page of a search. */
export interface SearchPage {
  items: (Recording & { snippet?: string })[];
  /** At most 10,000. */
  total: number;
  /** False when there may be more than `total`. */
  totalIsExact: boolean;
  /** Whether another page follows. */
  hasMore: boolean;
}

type Matches = Required<PageResult<MatchedRecording>>;

const STATEMENT_TIMEOUT_MS = 5000;
const CANCELED = '57014';
/** Offset up to which the matches of a frequent word are found by walking the list. */
const MAX_WALKED = 1000;
/** Characters of transcripts that are searched for a snippet at a time. */
const SNIPPET_TURN = 100_000;

/** Finds recordings by their words, tags and end user, and keeps what is searched. */
@Injectable()
export class RecordingSearchService {
  private readonly slots = new SearchSlots();

  constructor(
    private readonly database: DatabaseService,
    private readonly backfill: SearchBackfillService,
  ) {}

  /**
   * Replaces the text of a recording, in the transaction that changes the text. Writes nothing when the account has no
   * such recording.
   */
  async replace(tx: Tx, accountId: string, recordingId: string, text: string): Promise<void> {
    const recording = await selectTagged(tx, accountId, recordingId);
    if (recording) await this.write(tx, recording, text);
  }

  /** As `replace`, of a recording that the caller has read. */
  async write(tx: Tx, recording: TaggedRecording, text: string): Promise<void> {
    await writeDocument(tx, recording.id, { ...(await textTerms(recording, text)), text });
  }

  /** After a change of its title, tags or names of speakers, which the transaction has made. */
  async relabel(tx: Tx, recording: TaggedRecording & { searchedText: string | null }): Promise<void> {
    const { searchedText: text } = recording;
    if (text !== null) return await this.write(tx, recording, text);
    const terms = tagTerms(recording);
    if (terms === null) await deleteTagDocument(tx, recording.id);
    else await writeDocument(tx, recording.id, { terms, folded: null, text: null });
  }

  /** How the texts of these recordings begin, in their order; empty without a text. */
  async beginnings(accountId: string, recordingIds: readonly string[]): Promise<string[]> {
    if (recordingIds.length === 0) return [];
    const found = await selectBeginnings(this.database, accountId, recordingIds, MAX_BEGINNING);
    const texts = new Map(found.map(({ id, text }) => [id, text]));
    return recordingIds.map((id) => beginningOf(texts.get(id) ?? ''));
  }

  /**
   * @param query with `q` or tags.
   * @throws InvalidRequestError when `q` breaks a rule, or there are too many matches; RateLimitError when too many
   *   searches of the account wait.
   */
  async search(accountId: string, query: ListRecordingsQuery): Promise<SearchPage> {
    const words = query.q === undefined ? null : parseQuery(query.q);
    const isComplete = await this.backfill.isComplete();
    // Only what is transcribed has a text.
    const isEmpty = words && query.status !== undefined && query.status !== 'transcribed';
    const { items, total, hasMore } = isEmpty
      ? { items: [], total: 0, hasMore: false }
      : await this.slots.run(accountId, () => this.find(accountId, query, words));
    return {
      items: await withSnippets(items, words, inclusionsOf(query).includes('snippet')),
      total: Math.min(total, MAX_COUNTED),
      totalIsExact: total <= MAX_COUNTED && isComplete,
      hasMore,
    };
  }

  private async find(accountId: string, query: ListRecordingsQuery, words: SearchQuery | null): Promise<Matches> {
    const { limit, page, order } = query;
    const filter = filterOf(accountId, query, words);
    const slice = { limit, offset: page * limit };
    const rank = words && order === 'rank' ? rankQuery(words, new AccountTerms(accountId)) : null;
    try {
      return await this.database.transact(async (tx) => {
        await limitSearch(tx, STATEMENT_TIMEOUT_MS);
        if (rank !== null) return await findBest(tx, filter, rank, slice);
        const byLength = lengthOrder(query);
        if (byLength !== null) return await findByLength(tx, filter, slice, byLength);
        return await findByTime(tx, filter, slice, timeOrder(query));
      });
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code !== CANCELED) throw error;
      const field = words ? 'q' : `tag.${Object.keys(tagFiltersOf(query))[0]}`;
      const reason = `matches more than can be looked through in ${STATEMENT_TIMEOUT_MS / 1000} s: add a rarer word, a tag, or days`;
      throw new InvalidRequestError({ field, reason });
    }
  }
}

function filterOf(accountId: string, query: ListRecordingsQuery, words: SearchQuery | null): DocumentFilter {
  const terms = new AccountTerms(accountId);
  const tags = Object.entries(tagFiltersOf(query)).map(([key, value]) => quoted(terms.tag(key, value)));
  const user = query.user_id === undefined ? [] : [quoted(terms.user(query.user_id))];
  return {
    accountId,
    terms: [...tags, ...user, ...(words ? [`(${indexQuery(words, terms)})`] : [])].join(' & '),
    phrases: words && phraseConditions(words),
    date_from: query.date_from,
    date_to: query.date_to,
    created_from: query.created_from,
    created_before: query.created_before,
    // A text implies the status: then the rows of the recordings need not be read.
    status: words ? undefined : query.status,
  };
}

/**
 * Up to 10,000 matches are all read, so that the total is exact. Of more, the first recordings are searched in the order
 * of the list, where frequent words soon match; only when that fails are all matches sorted.
 */
async function findByTime(tx: Tx, filter: DocumentFilter, slice: Slice, order: TimeOrder): Promise<Matches> {
  const { limit, offset } = slice;
  const few = await selectMatches(tx, matchesStatement(filter, slice, MAX_COUNTED + 1, order));
  if (few.total <= MAX_COUNTED) return { ...few, hasMore: few.total > offset + limit };
  const oneMore = { limit: limit + 1, offset };
  if (offset + limit <= MAX_WALKED) {
    const { items } = await selectMatches(tx, walkStatement(filter, oneMore, order));
    if (items.length > limit) return { items: items.slice(0, limit), total: few.total, hasMore: true };
  }
  const { items, total } = await selectMatches(tx, matchesStatement(filter, slice, null, order));
  return { items, total, hasMore: total > offset + limit };
}

/** @throws InvalidRequestError when there are more than 10,000 */
async function findByLength(tx: Tx, filter: DocumentFilter, slice: Slice, order: LengthOrder): Promise<Matches> {
  const { items, total } = await selectMatches(tx, matchesStatement(filter, slice, MAX_COUNTED + 1, order));
  if (total > MAX_COUNTED) throw tooManyForLength(order);
  return { items, total, hasMore: total > slice.offset + slice.limit };
}

async function findBest(tx: Tx, filter: DocumentFilter, rank: string, slice: Slice): Promise<Matches> {
  const { items, total } = await selectMatches(tx, bestStatement(filter, rank, slice));
  return { items, total, hasMore: Math.min(total, MAX_COUNTED) > slice.offset + slice.limit };
}

/** Between long transcripts other requests get their turn. @param hasBeginnings where there are no words */
async function withSnippets(
  matches: MatchedRecording[],
  words: SearchQuery | null,
  hasBeginnings: boolean,
): Promise<SearchPage['items']> {
  if (!words) {
    return matches.map(({ text, ...recording }) =>
      hasBeginnings ? { ...recording, snippet: beginningOf(text ?? '') } : recording,
    );
  }
  const items: SearchPage['items'] = [];
  let searched = 0;
  for (const { text, ...recording } of matches) {
    items.push({ ...recording, snippet: snippetOf(text ?? '', words) });
    searched += text?.length ?? 0;
    if (searched > SNIPPET_TURN) {
      searched = 0;
      await setImmediate();
    }
  }
  return items;
}

/** Searches at a time in one process. Its other connections to Postgres serve everything else. */
const MAX_RUNNING = 6;
const MAX_RUNNING_OF_ACCOUNT = 2;
const MAX_WAITING_OF_ACCOUNT = 20;

interface AccountSlots {
  limit: ConcurrencyLimit;
  /** Searches that run or wait. */
  searches: number;
}

/** Bounds the searches that run at a time, so that no account takes all connections to Postgres. */
class SearchSlots {
  private readonly all = new ConcurrencyLimit(MAX_RUNNING);
  private readonly accounts = new Map<string, AccountSlots>();

  /** @throws RateLimitError when too many searches of the account wait. */
  async run<T>(accountId: string, search: () => Promise<T>): Promise<T> {
    const account = this.accounts.get(accountId) ?? {
      limit: new ConcurrencyLimit(MAX_RUNNING_OF_ACCOUNT),
      searches: 0,
    };
    if (account.searches >= MAX_RUNNING_OF_ACCOUNT + MAX_WAITING_OF_ACCOUNT) throw new RateLimitError(1);
    this.accounts.set(accountId, account);
    account.searches += 1;
    try {
      return await account.limit.run(() => this.all.run(search));
    } finally {
      account.searches -= 1;
      if (account.searches === 0) this.accounts.delete(accountId);
    }
  }
}
