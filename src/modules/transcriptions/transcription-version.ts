import type { EntityTags } from '../../platform/http/header-values.js';
import { TRANSCRIPTION_FORMATS, type TranscriptionFormat } from './exports/transcription-format.js';
import type { Transcription } from './transcription.entity.js';

/** `current`: the correction if there is one; `original`: the engine's text (D44). */
export const TRANSCRIPTION_VERSIONS = ['current', 'original'] as const;
export type TranscriptionVersion = (typeof TRANSCRIPTION_VERSIONS)[number];

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

export function servedVersion(transcription: Transcription, version: TranscriptionVersion): ServedTranscription {
  const { id, text, words, correctedText, correctedWords, revision, createdAt, updatedAt } = transcription;
  const engines = { transcription, version: 'original', text, words } as const;
  if (version === 'original') return { ...engines, updatedAt: createdAt, tag: `${id}.original` };
  const tag = `${id}.${revision}`;
  if (correctedText === null || correctedWords === null) return { ...engines, updatedAt, tag };
  return { transcription, version: 'corrected', text: correctedText, words: correctedWords, updatedAt, tag };
}

/** The strong `ETag` of one form. */
export function entityTag({ tag }: ServedTranscription, format: TranscriptionFormat): string {
  return format === 'json' ? `"${tag}"` : `"${tag}.${format}"`;
}

/** Whether `If-Match` holds: an editor may have read any form of the present version. */
export function isCurrent(tags: EntityTags, transcription: Transcription): boolean {
  const current = servedVersion(transcription, 'current');
  return tags === '*' || TRANSCRIPTION_FORMATS.some((format) => tags.includes(entityTag(current, format)));
}
