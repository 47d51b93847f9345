import fc from 'fast-check';
import { RecordingSearchService } from '../../../src/modules/recordings/search/recording-search.service.js';
import { SearchBackfillService } from '../../../src/modules/recordings/search/search-backfill.service.js';
import { TranscriptionsService } from '../../../src/modules/transcriptions/transcriptions.service.js';
import { checkRows } from '../../support/check-rows.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import { eventually } from '../../../src/testing/eventually.js';
import { useService } from '../../../src/testing/test-service.js';
import { expectInvalid } from '../../support/http/expect-errors.js';
import { RECORDING } from '../../support/http/response-shapes.js';
import { seedNotes } from '../../support/state/many-notes.js';
import { transcribe, upload } from '../../support/state/recording-states.js';

interface Item {
  id: string;
  created_at: string;
  snippet?: string;
}

interface Answer {
  recordings: Item[];
  total: number;
  total_is_exact?: boolean;
  next_page_uri: string | null;
}

describe('search of recordings (D43)', () => {
  const service = useService({ ROLES: 'api' });
  let client: ApiClient;

  beforeEach(async () => {
    client = await service.account();
  });

  const list = async (query: Record<string, string> | string, by = client): Promise<Answer> =>
    (await by.get(`/v1/recordings?${new URLSearchParams(query).toString()}`).expect(200)).body as Answer;

  const idsOf = async (query: Record<string, string> | string, by = client): Promise<string[]> =>
    (await list(query, by)).recordings.map(({ id }) => id);

  const note = async (text: string, tags?: object): Promise<string> => {
    const id = await upload(client, tags && { custom_tags: JSON.stringify(tags) });
    await transcribe(service, id, { text });
    return id;
  };

  /** As `note`, without the upload: for many. @returns the ids in the order of the texts. */
  const manyNotes = (texts: string[], by = client): Promise<string[]> =>
    seedNotes(
      service,
      by,
      texts.map((text) => ({ text })),
    );

  describe('words', () => {
    it('are found in every case and with or without accents, the newest first, with the part of the text', async () => {
      const older = await note('Le CAFÉ du coin est fermé.');
      const newer = await note('un cafe\u0301, s’il vous plaît');
      await note('décaféiné');
      for (const q of ['cafe', 'Café', 'CAFE\u0301']) expect(await idsOf({ q })).toEqual([newer, older]);
      const { recordings, total, total_is_exact: isExact } = await list({ q: 'ferme' });
      expect([total, isExact]).toEqual([1, true]);
      expect(recordings).toStrictEqual([
        { ...RECORDING, id: older, status: 'transcribed', snippet: 'Le CAFÉ du coin est fermé.' },
      ]);
    });

    it('all count: none is left out as too frequent', async () => {
      const id = await note('to be or not to be');
      await note('that is the question');
      expect(await idsOf({ q: 'to be' })).toEqual([id]);
      expect(await idsOf({ q: '"or not to"' })).toEqual([id]);
      expect(await idsOf({ q: '"not or"' })).toEqual([]);
    });

    it('follow the syntax of web searches', async () => {
      const [apples, pears, both] = await manyNotes(['red apples', 'red pears', 'apples, pears: green']);
      expect(await idsOf({ q: 'red apples' })).toEqual([apples]);
      expect(await idsOf({ q: 'red -apples' })).toEqual([pears]);
      expect(await idsOf({ q: '-red' })).toEqual([both]);
      expect(await idsOf({ q: 'green or red pears' })).toEqual([both, pears]);
      expect(await idsOf({ q: '"apples pears"' })).toEqual([both]);
      expect(await idsOf({ q: 'pears -"apples pears"' })).toEqual([pears]);
      expect(await idsOf({ q: 'or' })).toEqual([]);
    });

    it('of scripts without spaces are found wherever their characters stand together', async () => {
      const [japanese, thai, korean] = await manyNotes([
        '明日東京都に行きます。',
        'ฉันชอบกินข้าวผัด',
        '우리는 학교에 간다',
      ]);
      for (const q of ['東京', '京都', '東', '東京都に', '明日 行きます'])
        expect(await idsOf({ q })).toEqual([japanese]);
      expect(await idsOf({ q: '東都' })).toEqual([]);
      expect(await idsOf({ q: '京東都' })).toEqual([]);
      expect(await idsOf({ q: 'ข้าวผัด' })).toEqual([thai]);
      expect(await idsOf({ q: '학교' })).toEqual([korean]);
    });

    it('are found by rank if asked', async () => {
      const filler = 'and so on '.repeat(40);
      const [best, , worst] = await manyNotes(['pump, pump and pump', 'valve', `${filler} pump ${filler}`]);
      expect(await idsOf({ q: 'pump' })).toEqual([worst, best]);
      expect(await idsOf({ q: 'pump', order: 'rank' })).toEqual([best, worst]);
      expect(await idsOf({ q: 'pump', order: 'newest' })).toEqual([worst, best]);
      expect((await list({ q: '-valve', order: 'rank' })).total).toBe(2);
    });

    it('of another account are never found', async () => {
      const other = await service.account();
      await manyNotes(['confidential'], other);
      expect((await list({ q: 'confidential' })).total).toBe(0);
      expect((await list({ q: '-something' })).total).toBe(0);
      expect((await list({ q: 'confidential' }, other)).total).toBe(1);
    });
  });

  it('finds what random queries find in texts that are compared one by one', async () => {
    const words = Object.keys(SPELLINGS);
    const anyWord = fc.constantFrom(...words);
    const anyText = fc.array(anyWord, { maxLength: 14 });
    const anyPhrase = fc.record({ words: fc.array(anyWord, { minLength: 1, maxLength: 4 }), isNegative: fc.boolean() });
    const anyQuery = fc.array(fc.array(anyPhrase, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 });
    const texts = fc.sample(anyText, { numRuns: 150, seed: 7 });
    const ids = await manyNotes(texts.map((text) => text.map(spelled).join('')));
    const truth = (query: { words: string[]; isNegative: boolean }[][]): string[] =>
      ids.filter((_, i) => {
        const text = ` ${texts[i]?.join(' ')} `;
        const holds = (phrase: string[]): boolean => text.includes(` ${phrase.join(' ')} `);
        return query.some((all) => all.every((phrase) => holds(phrase.words) !== phrase.isNegative));
      });
    let matched = 0;
    await fc.assert(
      fc.asyncProperty(anyQuery, async (query) => {
        const q = query.map((all) => all.map(written).join(' ')).join(' or ');
        const expected = truth(query).toReversed();
        matched += expected.length;
        const { recordings, total } = await list({ q, limit: '100' });
        expect(total).toBe(expected.length);
        expect(recordings.map(({ id }) => id)).toEqual(expected.slice(0, 100));
      }),
      { numRuns: 100 },
    );
    expect(matched).toBeGreaterThan(500);
  });

  it('reads queries as websearch_to_tsquery does', async () => {
    const parts = ['ab', 'cd', 'xyz', '-ab', '"ab cd"', '-"cd xyz"', 'or', "xyz's", '"xyz', '&', '!ab', '(cd)'];
    const anyPart = fc.constantFrom(...parts);
    const texts = fc.sample(
      fc.array(fc.constantFrom('ab', 'cd', 'xyz', 's', 'or'), { minLength: 1, maxLength: 6 }),
      60,
    );
    const ids = await manyNotes(texts.map((text) => text.join(' ')));
    await fc.assert(
      fc.asyncProperty(fc.array(anyPart, { minLength: 1, maxLength: 5 }), async (chosen) => {
        // An `or` with nothing to choose from is a word here; Postgres differs with its place.
        fc.pre(
          !chosen.some(
            (part, i) =>
              part === 'or' && [undefined, 'or', '&'].some((none) => chosen[i - 1] === none || chosen[i + 1] === none),
          ),
        );
        fc.pre(chosen.some((part) => part !== '&'));
        const q = chosen.join(' ');
        const found = await service.database.query<{ i: number }>(
          `SELECT n::int AS i FROM unnest($1::text[]) WITH ORDINALITY AS t (text, n)
           WHERE to_tsvector('simple', text) @@ websearch_to_tsquery('simple', $2) ORDER BY n DESC`,
          [texts.map((text) => text.join(' ')), q],
        );
        expect({ q, ids: await idsOf({ q, limit: '100' }) }).toEqual({ q, ids: found.map(({ i }) => ids[i - 1]) });
      }),
      { numRuns: 150 },
    );
  });

  describe('filters', () => {
    it('by tags and end user agree with every other filter', async () => {
      const tagged = await note('first note', { ticket: 'T-1', 'a-b_c': 'Ä b' });
      const other = await note('second note', { ticket: 'T-2', 'a-b_c': 'Ä b' });
      const waiting = await upload(client, { custom_tags: '{"ticket":"T-1"}' });
      await note('third note');
      expect(await idsOf({ 'tag.ticket': 'T-1' })).toEqual([waiting, tagged]);
      expect(await idsOf({ 'tag.ticket': 't-1' })).toEqual([]);
      expect(await idsOf({ 'tag.a-b_c': 'Ä b' })).toEqual([other, tagged]);
      expect(await idsOf({ 'tag.a-b_c': 'Ä b', 'tag.ticket': 'T-1' })).toEqual([tagged]);
      expect(await idsOf({ 'tag.ticket': 'T-1', status: 'processing' })).toEqual([waiting]);
      expect(await idsOf({ 'tag.ticket': 'T-1', q: 'note' })).toEqual([tagged]);
      expect(await idsOf({ q: 'note', status: 'processing' })).toEqual([]);
      const today = new Date().toISOString().slice(0, 10);
      expect(await idsOf({ q: 'note', date_from: '2020-01-01', date_to: '2020-01-02' })).toEqual([]);
      expect(await idsOf({ q: 'note', 'tag.ticket': 'T-2', date_from: today })).toEqual([other]);

      const { recordings, ...page } = await list({ 'tag.ticket': 'T-2' });
      expect(recordings).toStrictEqual([{ ...RECORDING, id: other, status: 'transcribed' }]);
      expect(page).toMatchObject({
        total: 1,
        total_is_exact: true,
        uri: '/v1/recordings?page=0&limit=50&tag.ticket=T-2',
      });
      const plain = await list({});
      expect(plain).not.toHaveProperty('total_is_exact');
      expect(plain.recordings[0]).not.toHaveProperty('snippet');
    });

    it('by end user, page by page, with an exact total', async () => {
      const ids = await manyNotes(Array.from({ length: 7 }, (_, i) => `note ${i}`));
      await service.database.query(`UPDATE recordings SET user_id = 'ada' WHERE id = ANY ($1)`, [ids.slice(0, 5)]);
      expect(await idsOf({ user_id: 'ada' })).toEqual(ids.slice(0, 5).toReversed());
      const page = await list({ user_id: 'ada', limit: '2', page: '1' });
      expect(page.recordings.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
      expect(page).toMatchObject({ total: 5, next_page_uri: '/v1/recordings?page=2&limit=2&user_id=ada' });
      expect(page).not.toHaveProperty('total_is_exact');
      expect((await list({ user_id: 'ada', status: 'failed' })).total).toBe(0);
      expect((await list({ user_id: 'ada', date_to: '2020-01-01' })).total).toBe(0);
      expect((await list({ user_id: 'Ada' })).total).toBe(0);
      expect((await list({ user_id: 'ada' }, await service.account())).total).toBe(0);
    });

    it('find with the words of an end user only those of that user', async () => {
      const ids = await manyNotes(['a note', 'a note']);
      await service.database.query(`UPDATE recordings SET user_id = 'ada' WHERE id = $1`, [ids[0]]);
      const replace = service.app.get(RecordingSearchService);
      await service.database.transact((tx) => replace.replace(tx, client.accountId, ids[0] as string, 'a note'));
      expect(await idsOf({ q: 'note', user_id: 'ada' })).toEqual([ids[0]]);
    });
  });

  it('is paged to the end, also past the 10,000 results that are counted', async () => {
    const ids = await manyNotes(Array.from({ length: 20 }, (_, i) => `page ${i}`));
    const first = ids[0] as string;
    // 10,100 more that are older, by 28 hours: the rows of one, again and again.
    await service.database.query(
      `WITH copies AS (
         INSERT INTO recordings (id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
           audio_format, upload_source, status, features, processed_at, created_at, updated_at)
         SELECT gen_random_uuid(), account_id, 'a.wav', id::text || n, 'b', 1, 1, 'wav', 'api', 'transcribed', '{}', now(),
           created_at - make_interval(secs => n * 10), now()
         FROM recordings, generate_series(1, 10100) n WHERE id = $1 RETURNING id, account_id, created_at)
       INSERT INTO search_documents SELECT c.id, c.account_id, c.created_at, s.terms, s.folded, s.text
       FROM copies c, search_documents s WHERE s.recording_id = $1`,
      [first],
    );
    const page = (number: number, more = {}): Promise<Answer> =>
      list({ q: 'page', limit: '100', page: `${number}`, ...more });
    const start = await page(0);
    expect(start.recordings.slice(0, 20).map(({ id }) => id)).toEqual(ids.toReversed());
    expect(start).toMatchObject({
      total: 10_000,
      total_is_exact: false,
      next_page_uri: '/v1/recordings?page=1&limit=100&q=page',
    });
    const { recordings: newest } = start;
    const lastDay = newest[0]?.created_at.slice(0, 10) as string;
    const untilThen = await list({ q: 'page', limit: '10', date_to: lastDay });
    expect(untilThen.recordings).toEqual(newest.slice(0, 10));
    expect(await page(100)).toMatchObject({
      page_size: 100,
      next_page_uri: '/v1/recordings?page=101&limit=100&q=page',
    });
    expect(await page(101)).toMatchObject({ page_size: 20, next_page_uri: null });
    expect(await page(102)).toMatchObject({ page_size: 0, next_page_uri: null });
    expect(await page(100, { order: 'rank' })).toMatchObject({ page_size: 0, next_page_uri: null, total: 10_000 });
    expect(await page(99, { order: 'rank' })).toMatchObject({ page_size: 100, next_page_uri: null });
    expect(await list({ q: 'page 19', limit: '1' })).toMatchObject({ total: 1, total_is_exact: true });
  });

  it('shows what a change of the text and a delete leave, at once', async () => {
    const id = await note('the old text', { ticket: 'T-1' });
    const search = service.app.get(RecordingSearchService);
    await service.database.transact((tx) => search.replace(tx, client.accountId, id, 'the new words'));
    expect(await idsOf({ q: 'old' })).toEqual([]);
    expect((await list({ q: 'new', 'tag.ticket': 'T-1' })).recordings[0]?.snippet).toBe('the new words');
    const stranger = await service.account();
    await service.database.transact((tx) => search.replace(tx, stranger.accountId, id, 'stolen'));
    expect(await idsOf({ q: 'new' })).toEqual([id]);
    await client.delete(`/v1/recordings/${id}`).expect(204);
    expect(await idsOf({ q: 'new' })).toEqual([]);
    expect(await service.database.query('SELECT 1 FROM search_documents WHERE recording_id = $1', [id])).toEqual([]);
  });

  it('indexes recordings of earlier releases, and says until then that totals are not exact', async () => {
    const ids = [await note('an early note'), await upload(client, { custom_tags: '{"ticket":"T-9"}' })];
    const tagged = await upload(client, { custom_tags: '{"ticket":"T-8"}' });
    const { database, app } = service;
    const [ofTags] = await database.query<{ terms: string }>(
      'SELECT terms::text FROM search_documents WHERE recording_id = $1',
      [tagged],
    );
    await transcribe(service, tagged, { text: 'an early note with a tag' });
    await database.query('DELETE FROM search_documents WHERE account_id = $1 AND recording_id <> $2', [
      client.accountId,
      tagged,
    ]);
    // Its tags were indexed with its upload, and an earlier release has transcribed it.
    await database.query(
      'UPDATE search_documents SET terms = $2::tsvector, folded = NULL, text = NULL WHERE recording_id = $1',
      [tagged, ofTags?.terms],
    );
    await database.query('UPDATE search_backfill SET passes_left = 2, before_id = NULL, next_at = now()');
    const backfill = new SearchBackfillService(database);
    expect(await backfill.isComplete()).toBe(false);
    // Of the other tests as well: a call indexes for a second.
    await eventually(async () => {
      await backfill.run((wanted) => app.get(TranscriptionsService).textsOf(wanted));
      return await backfill.isComplete();
    });
    expect(await idsOf({ q: 'early' })).toEqual([tagged, ids[0]]);
    expect(await idsOf({ 'tag.ticket': 'T-9' })).toEqual([ids[1]]);
    expect(await database.query(`SELECT passes_left AS left FROM search_backfill WHERE next_at > now()`)).toEqual([
      { left: 1 },
    ]);
  });

  it('takes any transcript, and finds the words at its start', async () => {
    const different = Array.from({ length: 200_000 }, (_, i) => `wort${i}`).join(' ');
    const run = String.fromCodePoint(...Array.from({ length: 20_000 }, (_, i) => 0x4e00 + i)).repeat(10);
    const ids = await manyNotes([
      different,
      run,
      'a '.repeat(300_000),
      'x'.repeat(1_000_000),
      `'"\\ \u0001 \uffff`,
      '',
    ]);
    expect(await idsOf({ q: 'wort7 wort1000' })).toEqual([ids[0]]);
    expect(await idsOf({ q: '一丁' })).toEqual([ids[1]]);
    expect(await idsOf({ q: 'x'.repeat(900) })).toEqual([]);
    expect((await list({ q: '-wort7' })).total).toBe(5);
  });

  it('answers hostile queries with the rule, or quickly', async () => {
    await manyNotes(['a note']);
    const get = (query: string) => client.get(`/v1/recordings?${query}`);
    await checkRows<[query: string, field: string]>(
      [
        ['q=', 'q'],
        ['q=a&q=b', 'q'],
        ['q=a%00b', 'q'],
        ['q=%22%22', 'q'],
        [`q=${encodeURIComponent('& | ! <-> ( ) : * \\ \' "')}`, 'q'],
        [`q=${'a'.repeat(1001)}`, 'q'],
        [`q=${'a+'.repeat(51)}`, 'q'],
        ['order=rank', 'order'],
        ['q=a&order=best', 'order'],
        ['user_id=', 'user_id'],
        ['user_id=a&user_id=b', 'user_id'],
        [`user_id=${'a'.repeat(256)}`, 'user_id'],
        ['tag.=x', 'tag.'],
        ['tag.a%20b=x', 'tag.a b'],
        ['tag.a=1&tag.a=2', 'tag.a'],
        [`tag.a=${'x'.repeat(129)}`, 'tag.a'],
        ['tag.a=%00', 'tag.a'],
        [Array.from({ length: 11 }, (_, i) => `tag.k${i}=v`).join('&'), 'tag.k10'],
      ],
      async (query, field) => expectInvalid(await get(query), field),
    );
    const harmless = ["'; DROP TABLE recordings; --", '.*+?[a-z]{1,}$', "a\\' b''", 'a:* <2> b', 'or or or', '-a -b'];
    const long = ['漢'.repeat(500), 'é'.repeat(900), `"${'ab '.repeat(50)}"`];
    for (const q of [...harmless, ...long]) await get(`q=${encodeURIComponent(q)}`).expect(200);
    const tags = encodeURIComponent("x' | 'y\\");
    await get(`tag.__proto__=${tags}&tag.constructor=1&user_id=${tags}`).expect(200);
  });
});

/** Ways to write each word; runs of a script without spaces stand alone, so that one cannot be a part of another. */
const SPELLINGS: Record<string, string[]> = {
  cafe: ['café', 'CAFÉ', 'Cafe\u0301', 'cafe'],
  strasse: ['Straße', 'STRASSE', 'strasse'],
  is: ['is', 'IS', 'İs', 'ís'],
  to: ['to', 'TO', 'tó', 'ｔｏ'],
  елка: ['ёлка', 'ЁЛКА', 'елка'],
  λογοσ: ['λόγος', 'ΛΌΓΟΣ', 'λογος'],
  محمد: ['مُحَمَّد', 'محمد'],
  '42': ['42', '４２', '４2'],
  हिन्दी: ['हिन्दी'],
  東京: ['東京'],
  internationalization: ['Internationalization', 'INTERNATIONALIZATION', 'internatiónalization'],
};
const SEPARATORS = [' ', ', ', ' — ', '. ', '\n', '-', '/', '’'];
const pick = <T>(list: T[]): T => list[Math.floor(Math.random() * list.length)] as T;
const spelling = (word: string): string => pick(SPELLINGS[word] as string[]);
const spelled = (word: string): string => `${spelling(word)}${pick(SEPARATORS)}`;
const written = ({ words, isNegative }: { words: string[]; isNegative: boolean }): string => {
  const phrase = words.length > 1 ? `"${words.map(spelling).join(' ')}"` : spelling(words[0] as string);
  return isNegative ? `-${phrase}` : phrase;
};
