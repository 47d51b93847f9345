import { published } from '../lib/figures.mjs';
import { insertNotes } from '../lib/notes.mjs';

/** Of which a row is counted, with its indexes and what is stored beside it. */
const TABLES = [
  'recordings',
  'transcriptions',
  'search_documents',
  'events',
  'deliveries',
  'delivery_attempts',
  'usage_counters',
];

const WEBHOOK = '00000000-0000-4000-8000-00000000000a';

/**
 * Bytes of a row in each table that grows with recordings. Notes have 20 to 120 words; each has an event that was delivered at
 * the first attempt.
 */
export async function measureSizes(stage, { recordings }) {
  const account = await stage.account();
  await insertNotes(stage, account.id, recordings);
  await stage.sql('ALTER TABLE bench_texts ADD words text');
  await stage.sql(
    `UPDATE bench_texts SET words = (
       SELECT json_agg(json_build_object('word', word, 'start', n * 0.42, 'end', n * 0.42 + 0.31, 'confidence',
         round(random()::numeric, 3)) ORDER BY n) FROM regexp_split_to_table(text, ' ') WITH ORDINALITY AS w (word, n))`,
  );
  await stage.sql(
    `INSERT INTO transcriptions (id, recording_id, account_id, text, confidence, language, provider, model,
       processing_duration_ms, words, created_at, updated_at)
     SELECT gen_random_uuid(), r.id, account_id, t.text, 0.9, 'english', 'sherpa', 'whisper-small', 900, t.words, created_at,
       created_at
     FROM (SELECT *, row_number() OVER (ORDER BY created_at) AS n FROM recordings WHERE status = 'transcribed') r
     JOIN bench_texts t ON t.i = (r.n * 7919) % (SELECT count(*) FROM bench_texts)`,
  );
  await insertEvents(stage, account.id);
  const results = [];
  for (const table of TABLES) {
    await stage.sql(`VACUUM ANALYZE ${table}`);
    const [{ count, rows, indexes }] = await stage.sql(
      `SELECT (SELECT count(*)::int FROM ${table}) AS count, pg_table_size('${table}')::float8 AS rows,
         pg_indexes_size('${table}')::float8 AS indexes`,
    );
    const figures = `${Math.round(rows / count)} and ${Math.round(indexes / count)} of indexes, ${count} rows`;
    results.push(published(`${table}, bytes a row`, (rows + indexes) / count, figures));
  }
  return results;
}

async function insertEvents(stage, accountId) {
  await stage.sql(
    `INSERT INTO webhooks (id, account_id, url, events, encrypted_secret, status, created_at, updated_at)
     VALUES ($2, $1, 'https://hooks.example.com/', '{recording.transcribed}', '', 'active', now(), now())`,
    [accountId, WEBHOOK],
  );
  await stage.sql(
    `INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
     SELECT gen_random_uuid(), account_id, row_number() OVER (ORDER BY created_at), 'recording.transcribed', id, 1,
       json_build_object('event', 'recording.transcribed', 'recording', json_build_object('id', id, 'status', status, 'uri',
         '/v1/recordings/' || id, 'original_filename', original_filename, 'duration_seconds', 11, 'file_size_bytes',
         file_size_bytes, 'audio_format', audio_format, 'sample_rate', sample_rate, 'channels', channels, 'user_id', user_id,
         'custom_tags', custom_tags, 'upload_source', upload_source, 'created_at', created_at, 'processed_at', processed_at,
         'features', features, 'transcription_uri', '/v1/recordings/' || id || '/transcription'))::text, created_at
     FROM recordings WHERE status = 'transcribed'`,
  );
  await stage.sql(
    `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, attempts, created_at, updated_at)
     SELECT gen_random_uuid(), account_id, id, $1, 'delivered', 1, created_at, created_at FROM events`,
    [WEBHOOK],
  );
  await stage.sql(
    `INSERT INTO delivery_attempts (delivery_id, number, started_at, status, duration_ms, response)
     SELECT id, 1, created_at, 200, 40, 'ok' FROM deliveries`,
  );
}
