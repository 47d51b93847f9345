import { insertRecordings } from './recordings.mjs';

const VOCABULARY = 20_000;
/** Transcripts, of which every recording has one with further words: what differs in a million would take an hour. */
const TEXTS = 2000;
const SHORTEST = 20;
const LONGEST = 120;
const DAYS = 365;
/** Recordings beside which the index stays. */
const MAX_INSERTED = 10_000;
/** Recordings with the word `rare`. */
const RARE = 200;
/** The number in `note-1.webm`. */
const NUMBER = `substr(replace(original_filename, '.webm', ''), 6)::int`;

/**
 * A year of recordings with transcripts: `third` is said in every third, `rare` in 200; so are the tags `kind=third`, and
 * `kind=tenth` in every tenth. Each of a thousand end users has as many.
 */
export async function insertNotes(stage, accountId, count) {
  const { AccountTerms, quoted, textTerms } = await import('../../../dist/modules/recordings/search/search-terms.js');
  await insertRecordings(stage, accountId, count, DAYS, {
    userId: `'user-' || i % 1000`,
    customTags: `CASE WHEN i % 3 = 0 THEN '{"kind":"third"}' WHEN i % 10 = 1 THEN '{"kind":"tenth"}' END`,
  });
  const recording = { id: '', accountId, userId: null, customTags: null, title: null };
  const texts = await Promise.all(
    Array.from({ length: TEXTS }, randomText).map(async (text) => ({ text, ...(await textTerms(recording, text)) })),
  );
  await stage.sql('CREATE TABLE IF NOT EXISTS bench_texts (i int PRIMARY KEY, terms tsvector, folded text, text text)');
  await stage.sql('TRUNCATE bench_texts');
  await stage.sql(
    `INSERT INTO bench_texts SELECT n - 1, terms::tsvector, folded, text
     FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS t (terms, folded, text, n)`,
    [texts.map(({ terms }) => terms), texts.map(({ folded }) => folded), texts.map(({ text }) => text)],
  );
  const terms = new AccountTerms(accountId);
  const user = terms.user('');
  // Of many rows it is built faster than it is kept.
  if (count > MAX_INSERTED) await stage.sql('DROP INDEX search_documents_terms_idx');
  await stage.sql(
    `INSERT INTO search_documents (recording_id, account_id, created_at, terms, folded, text)
     SELECT r.id, $1, r.created_at,
       t.terms || (CASE WHEN n % 3 = 0 THEN $2 || ' ' || $3 ELSE '' END)::tsvector
         || (CASE WHEN n % $4::int = 0 THEN $5 ELSE '' END)::tsvector
         || (CASE WHEN n % 3 <> 0 AND n % 10 = 1 THEN $6 ELSE '' END)::tsvector
         || array_to_tsvector(ARRAY[$7 || r.user_id]),
       t.folded || CASE WHEN n % 3 = 0 THEN 'third ' ELSE '' END || CASE WHEN n % $4 = 0 THEN 'rare ' ELSE '' END,
       t.text || CASE WHEN n % 3 = 0 THEN ' third' ELSE '' END || CASE WHEN n % $4 = 0 THEN ' rare' ELSE '' END
     FROM (SELECT *, ${NUMBER} AS n FROM recordings WHERE account_id = $1) r
     JOIN bench_texts t ON t.i = (r.n::bigint * 7919) % ${TEXTS}
     ORDER BY r.created_at`,
    [
      accountId,
      `${quoted(terms.word('third'))}:900`,
      quoted(terms.tag('kind', 'third')),
      Math.floor(count / RARE),
      `${quoted(terms.word('rare'))}:901`,
      quoted(terms.tag('kind', 'tenth')),
      user,
    ],
  );
  if (count > MAX_INSERTED) {
    await stage.sql(
      `SET maintenance_work_mem = '512MB';
       CREATE INDEX search_documents_terms_idx ON search_documents USING gin (terms) WITH (fastupdate = off)`,
    );
  }
  await stage.sql('VACUUM ANALYZE search_documents');
  await stage.sql('VACUUM ANALYZE recordings');
}

/** The nth word is about n times as rare as the first, as in every language, and frequent words are short. */
function randomText() {
  const length = SHORTEST + Math.floor(Math.random() * (LONGEST - SHORTEST));
  return Array.from({ length }, () => wordOf(Math.floor(VOCABULARY ** Math.random()))).join(' ');
}

const wordOf = (rank) =>
  `${'bcdfghjklm'[rank % 10]}${rank.toString(26).replaceAll(/\d/g, (digit) => 'aeiouyrstn'[digit])}`;
