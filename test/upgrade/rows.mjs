/** How many recordings an account has: with 365 days, nearly as many counters as recordings. */
const OF_AN_ACCOUNT = 1000;

/**
 * Fills a database of the last release: recordings of a year, each with a transcription, an event and a delivery, and the
 * counters that go with them. One in a thousand is still leased by a worker.
 */
const STATEMENTS = [
  `INSERT INTO accounts (id, name, email, status, plan, created_at, updated_at)
   SELECT gen_random_uuid(), 'Account ' || i, 'account-' || i || '@example.com', 'active', 'pro', now(), now()
   FROM generate_series(1, $1::int / ${OF_AN_ACCOUNT} + 1) i`,
  `INSERT INTO webhooks (id, account_id, url, events, encrypted_secret, status, created_at, updated_at)
   SELECT gen_random_uuid(), id, 'https://hooks.example.com/', '{recording.transcribed}', '', 'active', now(), now()
   FROM accounts WHERE NOT EXISTS (SELECT FROM webhooks w WHERE w.account_id = accounts.id)`,
  `INSERT INTO recordings (id, account_id, user_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
     audio_format, upload_source, status, features, failure_reason, lease_token, lease_until,
     created_at, updated_at, processed_at)
   SELECT gen_random_uuid(), a.id, 'user-' || i % 50, 'note.webm', 'objects/' || i, 'voice-notes', 11000, 88211,
     'webm', 'api', s.status, CASE s.status WHEN 'transcribed' THEN '{"speech_seconds":9.7,"no_speech":false}'::jsonb END,
     CASE s.status WHEN 'failed' THEN 'no audio that can be decoded' END,
     CASE s.status WHEN 'processing' THEN gen_random_uuid() END,
     CASE s.status WHEN 'processing' THEN now() + interval '1 day' END,
     s.at, s.at, CASE WHEN s.status <> 'processing' THEN s.at END
   FROM generate_series(1, $1::int) i
   JOIN (SELECT id, row_number() OVER () - 1 AS number, count(*) OVER () AS total FROM accounts) a
     ON a.number = i % a.total,
   LATERAL (SELECT now() - i * interval '365 days' / $1::int AS at, CASE WHEN i % 1000 = 0 THEN 'processing'
     WHEN i % 10 = 0 THEN 'failed' ELSE 'transcribed' END AS status) s`,
  `INSERT INTO transcriptions (id, recording_id, account_id, text, confidence, language, provider, model,
     processing_duration_ms, words, created_at, updated_at)
   SELECT gen_random_uuid(), id, account_id, repeat('seven words that a person has said ', 10), 0.9, 'english',
     'pocketsphinx', 'en-us', 900, '[]', created_at, created_at FROM recordings WHERE status = 'transcribed'`,
  `INSERT INTO events (id, account_id, sequence, kind, recording_id, run, body, created_at)
   SELECT gen_random_uuid(), account_id, row_number() OVER (PARTITION BY account_id ORDER BY created_at),
     'recording.' || status, id, 1, '{"recording":{"id":"' || id || '"}}', created_at
   FROM recordings WHERE status <> 'processing'`,
  `INSERT INTO event_sequences (account_id, last) SELECT account_id, max(sequence) FROM events GROUP BY 1
   ON CONFLICT DO NOTHING`,
  `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, attempts, created_at, updated_at)
   SELECT gen_random_uuid(), e.account_id, e.id, w.id, 'delivered', 1, e.created_at, e.created_at
   FROM events e JOIN webhooks w USING (account_id)`,
  `INSERT INTO usage_counters (account_id, day, status, listed, accepted, duration_ms, bytes)
   SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, count(*), count(*), sum(duration_ms),
     sum(file_size_bytes)
   FROM recordings GROUP BY 1, 2, 3`,
];

/** @param {import('pg').Client} database @returns {Promise<string>} how many rows there are */
export async function fill(database, recordings) {
  await database.query('SET synchronous_commit = off');
  for (const statement of STATEMENTS) {
    await database.query(statement, statement.includes('$1') ? [recordings] : []);
  }
  await database.query('VACUUM ANALYZE');
  const tables = ['recordings', 'transcriptions', 'events', 'deliveries', 'usage_counters'];
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`);
  const { rows } = await database.query(`SELECT ${counts.join()}`);
  return Object.entries(rows[0])
    .map(([table, count]) => `${count} ${table}`)
    .join(', ');
}
