/**
 * Inserts recordings by SQL, spread over so many days up to now, or over yesterday, with the counts that go with them.
 * @param columns SQL for `userId` and `customTags`, of the number `i`.
 */
export async function insertRecordings(stage, accountId, count, days, columns = {}) {
  const { userId = 'NULL', customTags = `'{"ticket":"T-' || i || '"}'` } = columns;
  await stage.sql(
    `INSERT INTO recordings (id, account_id, user_id, original_filename, object_key, bucket, duration_ms,
       file_size_bytes, audio_format, sample_rate, channels, bit_rate, audio_codec, client_ip, user_agent, upload_source,
       custom_tags, status, features, failure_reason, created_at, updated_at, processed_at)
     SELECT gen_random_uuid(), $1::uuid, ${userId}, 'note-' || i || '.webm', $1::text || '/bench/' || gen_random_uuid(),
       'voice-notes', 11000, 88211, 'webm', 48000, 1, 64000, 'opus', '203.0.113.9', 'bench', 'api',
       ${customTags}, s.status, CASE WHEN s.status = 'transcribed' THEN '{"speech_seconds":9.7,"no_speech":false}'::jsonb END,
       CASE WHEN s.status = 'failed' THEN 'no audio that can be decoded' END, s.at, s.at, s.at
     FROM generate_series(1, $2::int) i,
       LATERAL (SELECT CASE WHEN $3::int = 0 THEN date_trunc('day', now()) - (i::float8 / $2::int) * interval '1 day'
           ELSE now() - (i::float8 / $2::int) * make_interval(days => $3::int) END AS at,
         CASE WHEN i % 10 = 0 THEN 'failed' ELSE 'transcribed' END AS status) s`,
    [accountId, count, days],
  );
  await stage.sql(
    `INSERT INTO usage_counters (account_id, day, status, listed, accepted, duration_ms, bytes)
     SELECT account_id, (created_at AT TIME ZONE 'UTC')::date, status, count(*), count(*), sum(duration_ms), sum(file_size_bytes)
     FROM recordings WHERE account_id = $1 GROUP BY 1, 2, 3`,
    [accountId],
  );
  await stage.sql('VACUUM ANALYZE recordings');
  await stage.sql('VACUUM ANALYZE usage_counters');
}

/** The columns of the service's own statements, in their order. */
export const COLUMNS = `id, account_id, user_id, original_filename, object_key, bucket, duration_ms, file_size_bytes,
  audio_format, sample_rate, channels, bit_rate, audio_codec, client_ip, user_agent, upload_source, custom_tags, status,
  features, failure_reason, run, attempt, faults, lease_token, lease_until, created_at, updated_at, processed_at`;
