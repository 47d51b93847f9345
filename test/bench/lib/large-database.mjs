/** Accounts that wait, with ten recordings each. */
const WAITING = 10_000;
/** Owns 19 in 20 of the finished recordings, and old events that nobody has got yet; the other has the rest. */
const LARGE = '00000000-0000-4000-8000-000000000001';
const OTHER = '00000000-0000-4000-8000-000000000002';

const HOOKS = { [LARGE]: '00000000-0000-4000-8000-00000000000a', [OTHER]: '00000000-0000-4000-8000-00000000000b' };

/**
 * Fills a database by SQL: so many finished recordings with their texts, as many events with a delivery each, half of
 * them old and pending, and 10,000 accounts that wait.
 * @returns {Promise<{ large: string, other: string, waiting: number }>}
 */
export async function fillDatabase(stage, count) {
  const account = (id, name) => `SELECT ${id}, '${name}', i || '@${name}.example', 'active', 'pro', now(), now()`;
  const insertAccounts = 'INSERT INTO accounts (id, name, email, status, plan, created_at, updated_at)';
  await stage.sql(`${insertAccounts} ${account('gen_random_uuid()', 'waiting')} FROM generate_series(1, ${WAITING}) i`);
  const named = `(VALUES ('${LARGE}'::uuid), ('${OTHER}')) AS a (i)`;
  await stage.sql(`${insertAccounts} ${account('i', 'large')} FROM ${named}`);
  await insertRecordings(stage, count);
  await insertEvents(stage, count / 2);
  for (const table of ['recordings', 'transcriptions', 'events', 'deliveries', 'accounts', 'transcription_shares']) {
    await stage.sql(`VACUUM ANALYZE ${table}`);
  }
  return { large: LARGE, other: OTHER, waiting: WAITING };
}

async function insertRecordings(stage, count) {
  const columns = `id, account_id, original_filename, object_key, bucket, duration_ms, file_size_bytes, audio_format,
    upload_source, created_at, updated_at`;
  const values = `'note.wav', gen_random_uuid(), 'voice-notes', 10000, 320044, 'wav', 'api'`;
  await stage.sql(
    `INSERT INTO recordings (${columns}, user_id, status, features, processed_at)
     SELECT gen_random_uuid(), CASE WHEN i % 20 = 0 THEN '${OTHER}'::uuid ELSE '${LARGE}' END, ${values},
       now() - i * interval '30 seconds', now(), CASE WHEN i % 100 = 1 THEN 'ada' END, 'transcribed', '{}', now()
     FROM generate_series(1, ${count}) i`,
  );
  await stage.sql(
    `INSERT INTO transcriptions (id, recording_id, account_id, text, confidence, language, provider, model,
       processing_duration_ms, words, created_at, updated_at)
     SELECT gen_random_uuid(), id, account_id, repeat('what a note says ', 10), 0.9, 'english', 'bench', 'old', 1000,
       repeat('{"word":"note","start":0,"end":1}', 20), created_at, created_at
     FROM recordings`,
  );
  await stage.sql(
    `INSERT INTO usage_counters (account_id, day, status, listed, accepted, duration_ms, bytes, transcribed)
     SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, count(*), count(*), sum(duration_ms),
       sum(file_size_bytes), count(*) FROM recordings GROUP BY 1, 2, 3`,
  );
  await stage.sql(
    `INSERT INTO recordings (${columns}, status)
     SELECT gen_random_uuid(), a.id, ${values}, now() - i * interval '1 minute', now(), 'processing'
     FROM accounts a, generate_series(1, 10) i WHERE a.name = 'waiting'`,
  );
}

/** Of each of the two accounts: old ones that wait for their delivery, and new ones that have been delivered. */
async function insertEvents(stage, count) {
  for (const [accountId, webhookId] of Object.entries(HOOKS)) {
    const isOld = accountId === LARGE;
    await stage.sql(
      `INSERT INTO webhooks (id, account_id, url, events, encrypted_secret, status, created_at, updated_at)
       VALUES ($2, $1, 'https://hooks.example.com/', '{recording.failed}', '', 'active', now(), now())`,
      [accountId, webhookId],
    );
    await stage.sql(
      `INSERT INTO events (id, account_id, kind, body, sequence, user_id, created_at)
       SELECT gen_random_uuid(), $1, 'bench', repeat('b', 500), i, CASE WHEN i % 100 = 1 THEN 'ada' END,
         now() - make_interval(days => $2) - i * interval '1 second' FROM generate_series(1, $3::int) i`,
      [accountId, isOld ? 60 : 0, count],
    );
    await stage.sql(
      `INSERT INTO deliveries (id, account_id, event_id, webhook_id, status, next_attempt_at, created_at, updated_at)
       SELECT gen_random_uuid(), account_id, id, $2, CASE WHEN $3 THEN 'pending' ELSE 'delivered' END,
         CASE WHEN $3 THEN now() + interval '1 day' END, created_at, created_at FROM events WHERE account_id = $1`,
      [accountId, webhookId, isOld],
    );
  }
}
