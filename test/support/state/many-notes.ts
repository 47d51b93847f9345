import { v7 as uuidv7 } from 'uuid';
import { insertCorrections } from '../../../src/modules/recordings/usage-counters/counter-audit.service.js';
import { RecordingSearchService } from '../../../src/modules/recordings/search/recording-search.service.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';

export interface SeededNote {
  text?: string;
  filename?: string;
  status?: 'transcribed' | 'failed';
  tags?: Record<string, string>;
  userId?: string;
  durationMs?: number;
}

/** Recordings that can be listed and searched, without their uploads: for many. The last is the newest. @returns their ids */
export async function seedNotes(
  service: TestService,
  { accountId }: ApiClient,
  notes: readonly SeededNote[],
): Promise<string[]> {
  const ids = notes.map(() => uuidv7());
  const rows = notes.map((note, i) => ({
    id: ids[i],
    filename: note.filename ?? `note-${i + 1}.webm`,
    status: note.status ?? 'transcribed',
    tags: note.tags ?? null,
    user_id: note.userId ?? null,
    duration_ms: note.durationMs ?? 11_000,
  }));
  await service.database.query(
    `INSERT INTO recordings (id, account_id, user_id, original_filename, object_key, bucket, duration_ms,
       file_size_bytes, audio_format, upload_source, status, features, failure_reason, custom_tags, processed_at, created_at, updated_at)
     SELECT n.id, $1, n.user_id, n.filename, n.id::text, 'b', n.duration_ms, 1000, 'webm', 'api', n.status,
       CASE n.status WHEN 'transcribed' THEN '{"speech_seconds": null, "no_speech": false}'::jsonb END,
       CASE n.status WHEN 'failed' THEN 'It cannot be decoded' END, n.tags, now(),
       now() - make_interval(mins => (count(*) OVER () - place)::int), now()
     FROM ROWS FROM (jsonb_to_recordset($2) AS (id uuid, filename text, status text, tags jsonb, user_id text,
       duration_ms int)) WITH ORDINALITY AS n (id, filename, status, tags, user_id, duration_ms, place)`,
    [accountId, JSON.stringify(rows)],
  );
  const search = service.app.get(RecordingSearchService);
  await service.database.transact(async (tx) => {
    for (const [i, { text = 'hello there', status }] of notes.entries())
      await search.replace(tx, accountId, ids[i] as string, status === 'failed' ? '' : text);
  });
  await insertCorrections(service.database, accountId);
  return ids;
}
