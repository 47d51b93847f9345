import {
  type Lease,
  RecordingLeasesService,
  type Outcome,
} from '../../../src/modules/recordings/leases/recording-leases.service.js';
import { Recording, type RecordingFeatures } from '../../../src/modules/recordings/recording.entity.js';
import { Env } from '../../../src/platform/config/env.js';
import type { DatabaseService } from '../../../src/platform/database/database.service.js';
import { selectList } from '../../../src/platform/database/statement-parts.js';
import { silenceWav } from '../audio/audio-bytes.js';
import type { ApiClient } from '../../../src/testing/api-client.js';
import type { TestService } from '../../../src/testing/test-service.js';

export interface TranscriptOptions {
  text?: string;
  language?: string;
  durationMs?: number;
  noSpeech?: boolean;
  model?: string;
  /** Beside those that every recording has. */
  features?: Partial<RecordingFeatures>;
  /** As an engine gives them; by default the first word of the text alone. */
  words?: { word: string; start: number; end: number; confidence: number | null; channel?: number; speaker?: string }[];
}

/** Uploads a tenth of a second of silence. @returns the id. */
export async function upload(client: ApiClient, fields: Record<string, string> = {}): Promise<string> {
  const { body } = await client.upload(silenceWav(0.1), fields).expect(201);
  return body.id as string;
}

/**
 * Takes a recording to its end as a worker would, without an engine: in a service with ROLES=api nothing else touches
 * it, so a test decides when it ends, and how.
 */
export async function transcribe(service: TestService, id: string, spoken: TranscriptOptions = {}): Promise<void> {
  await finish(service, id, transcribedAs(spoken));
}

function transcribedAs(spoken: TranscriptOptions): Outcome {
  const {
    text = 'hello there',
    language = 'english',
    durationMs = 100,
    noSpeech = false,
    model = 'test-model',
  } = spoken;
  const [word = ''] = text.split(' ');
  const transcript = {
    text,
    language,
    confidence: noSpeech ? 0 : 0.9,
    provider: 'test',
    model,
    processingDurationMs: 12,
    words: noSpeech ? [] : (spoken.words ?? [{ word, start: 0, end: 0.1, confidence: 0.9 }]),
  };
  const features = { speech_seconds: noSpeech ? 0 : 0.1, no_speech: noSpeech, ...spoken.features };
  return { status: 'transcribed', transcript, features, durationMs, peaks: Buffer.from([0, 128, 255]) };
}

export async function fail(service: TestService, id: string, reason = 'It cannot be decoded'): Promise<void> {
  await finish(service, id, { status: 'failed', reason });
}

/** As `transcribe`, from inside the service. */
export async function finishAs(database: DatabaseService, leases: RecordingLeasesService, id: string): Promise<void> {
  const lease = await claim(database, id, 60);
  if (lease) await leases.finish(lease, transcribedAs({}));
}

/** Gives the lease of this recording to the test, whatever would be the next. Null when it cannot be claimed. */
export async function claimRecording(service: TestService, id: string): Promise<Lease | null> {
  return await claim(service.database, id, service.app.get(Env).leaseSeconds);
}

async function claim(database: DatabaseService, id: string, leaseSeconds: number): Promise<Lease | null> {
  const [lease] = await database.query<Lease>(
    `UPDATE recordings r SET lease_token = gen_random_uuid(), attempt = attempt + 1,
       lease_until = clock_timestamp() + make_interval(secs => $2)
     WHERE id = $1 AND (status = 'processing' OR rerun IS NOT NULL) AND (lease_until IS NULL OR lease_until < now())
     RETURNING ${selectList(Recording, 'r')}`,
    [id, leaseSeconds],
  );
  return lease ?? null;
}

async function finish(service: TestService, id: string, outcome: Outcome): Promise<void> {
  const processing = service.app.get(RecordingLeasesService);
  const lease = await claimRecording(service, id);
  if (!lease) throw new Error(`recording ${id} cannot be claimed`);
  if (!(await processing.finish(lease, outcome))) throw new Error(`recording ${id} could not be finished`);
}

/**
 * Gives a recording another time of creation, and the counts of its day with it. Only for the account's latest upload
 * that was not moved yet, in a service with ROLES=api, where nobody folds the counts.
 */
export async function backdate(service: TestService, id: string, createdAt: string): Promise<void> {
  await service.database.query(
    `WITH moved AS (UPDATE recordings SET created_at = $2 WHERE id = $1 RETURNING account_id, $2::timestamptz AS at)
     UPDATE usage_counter_deltas d SET day = (moved.at AT TIME ZONE 'UTC')::date
     FROM moved WHERE d.account_id = moved.account_id AND d.day = (now() AT TIME ZONE 'UTC')::date`,
    [id, createdAt],
  );
}
