import type { Recording } from 'vnotes';

import { formatDate } from './date';

/** What a client calls a file that has no name. */
const NAMELESS = new Set(['', 'voice-note', 'blob']);

/** The name of its file, else when it was made. */
export function titleOf({
  original_filename,
  created_at,
}: Pick<Recording, 'original_filename' | 'created_at'>): string {
  const name = original_filename?.trim() ?? '';
  return NAMELESS.has(name) ? `Note of ${formatDate(created_at)}` : name;
}
