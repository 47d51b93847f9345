import { hash } from 'node:crypto';
import type { SqlRunner, Tx } from '../../platform/database/database.service.js';
import { selectList } from '../../platform/database/statement-parts.js';
import type { EntityTags } from '../../platform/http/header-values.js';
import type { PageResult } from '../../platform/http/page.js';
import { TRANSCRIPTION_FORMATS, type TranscriptionFormat } from './exports/transcription-format.js';
import type { SpeakerNames } from './text/turns.js';
import { EarlierTranscription, type Transcription } from './transcription.entity.js';

/** `current`: the correction if there is one; `original`: the engine's text (D44). */
export const TEXT_VERSIONS = ['current', 'original'] as const;
export type TextVersion = (typeof TEXT_VERSIONS)[number];

/** What a request for a version is answered with. */
export interface ServedTranscription {
  transcription: Transcription;
  version: 'corrected' | 'original';
  text: string;
  /** JSON text, as it is sent. */
  words: string;
  updatedAt: Date;
  /** What the entity tags of all forms share: without the quotation marks and the form. */
  tag: string;
}

export function servedVersion(transcription: Transcription, version: TextVersion): ServedTranscription {
  const { id, text, words, correctedText, correctedWords, revision, createdAt, updatedAt } = transcription;
  const engines = { transcription, version: 'original', text, words } as const;
  if (version === 'original') return { ...engines, updatedAt: createdAt, tag: `${id}.original` };
  const tag = `${id}.${revision}`;
  if (correctedText === null || correctedWords === null) return { ...engines, updatedAt, tag };
  return { transcription, version: 'corrected', text: correctedText, words: correctedWords, updatedAt, tag };
}

/** The strong `ETag` of one form, or of the list of speakers. @param names of speakers, which all but JSON show */
export function entityTag(
  { tag }: ServedTranscription,
  form: TranscriptionFormat | 'speakers',
  names: SpeakerNames = null,
): string {
  if (form === 'json') return `"${tag}"`;
  const named = names && hash('sha256', JSON.stringify(names), 'base64url').slice(0, 12);
  return named === null ? `"${tag}.${form}"` : `"${tag}.${form}.${named}"`;
}

/** Whether `If-Match` holds: an editor may have read any form of the present version, whatever the names of speakers. */
export function isCurrent(tags: EntityTags, transcription: Transcription): boolean {
  if (tags === '*') return true;
  const { tag } = servedVersion(transcription, 'current');
  const forms = TRANSCRIPTION_FORMATS.filter((form) => form !== 'json').map((form) => `"${tag}.${form}`);
  return tags.some(
    (other) => other === `"${tag}"` || forms.some((form) => other === `${form}"` || other.startsWith(`${form}.`)),
  );
}

/** The result of one run of an engine (D49). */
export interface TranscriptionVersion extends EarlierTranscription {
  /** Whether it is the present one; the others are earlier. */
  isServed: boolean;
  /** The correction of its text. */
  correctedText: string | null;
}

export interface FoundVersions {
  found: PageResult<TranscriptionVersion>;
  /** The rerun that is to come. */
  pending: { engine: string | null; requestedAt: Date } | null;
}

/** Versions of a recording, including the present one. */
const MAX_VERSIONS = 5;

const STORED_COLUMNS =
  'id, recording_id, text, confidence, language, provider, model, processing_duration_ms, created_at';

/**
 * Copies the present transcription, before it is replaced, and deletes what is too old. SQL, because the text does not
 * leave Postgres.
 */
export async function keepEarlier(tx: Tx, recordingId: string): Promise<void> {
  await tx.query(
    `WITH kept AS (
       INSERT INTO earlier_transcriptions (${STORED_COLUMNS})
       SELECT ${STORED_COLUMNS} FROM transcriptions WHERE recording_id = $1)
     DELETE FROM earlier_transcriptions WHERE id IN (
       SELECT id FROM earlier_transcriptions WHERE recording_id = $1
       ORDER BY created_at DESC, id DESC OFFSET ${MAX_VERSIONS - 2})`,
    [recordingId],
  );
}

const VERSION_COLUMNS = selectList(EarlierTranscription, 'v');

/** The newest first. SQL, because both tables are read in one snapshot. */
export async function selectVersions(runner: SqlRunner, recordingId: string): Promise<TranscriptionVersion[]> {
  return await runner.query<TranscriptionVersion>(
    `SELECT ${VERSION_COLUMNS}, true AS "isServed", v.corrected_text AS "correctedText"
     FROM transcriptions v WHERE v.recording_id = $1
     UNION ALL
     SELECT ${VERSION_COLUMNS}, false, NULL FROM earlier_transcriptions v WHERE v.recording_id = $1
     ORDER BY "isServed" DESC, "createdAt" DESC, id DESC`,
    [recordingId],
  );
}
