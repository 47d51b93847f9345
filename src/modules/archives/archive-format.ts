/** Raised when an archive changes so that an earlier release cannot read it. */
export const ARCHIVE_FORMAT = 1;

/** Rows of one member are at most so many bytes, or a single row. */
export const MAX_ROWS_BYTES = 8 * 1024 * 1024;
/** The longest row that is read: the words of the longest recordings have some 30 MB. */
export const MAX_ROW_BYTES = 256 * 1024 * 1024;
/** Checksums of one member are at most about so many bytes. */
export const MAX_SUMS_BYTES = 1024 * 1024;

/** The first member of an archive, `manifest.json`. */
export interface Manifest {
  format: number;
  created_at: string;
  account_id: string;
  test_account_id: string | null;
  /** Those of the database that the rows are from. */
  migrations: string[];
  /** Columns by table, in the order in which the rows are to be inserted. */
  tables: { name: string; columns: string[] }[];
}

export const MANIFEST = 'manifest.json';

const NUMBER_DIGITS = 6;
const numbered = (number: number): string => `${number}`.padStart(NUMBER_DIGITS, '0');

/** Names of members. Checksums are of all members since the last ones; the manifest comes first, and checksums last. */
export const memberName = {
  rows: (table: string, number: number): string => `tables/${table}/${numbered(number)}.jsonl`,
  text: (recordingId: string, file: string): string => `recordings/${recordingId}/${file}`,
  audio: (recordingId: string, format: string): string => `recordings/${recordingId}/audio.${format}`,
  sums: (number: number): string => `SHA256SUMS-${numbered(number)}`,
};

const ROWS = /^tables\/([a-z_][a-z\d_]*)\/\d{6,}\.jsonl$/;
const UUID = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';
const AUDIO = new RegExp(`^recordings/(${UUID})/audio\\.([a-z\\d]{1,10})$`);
const TEXT = new RegExp(`^recordings/${UUID}/(?:text|paragraphs)\\.[a-z]{1,10}$`);
const SUMS = /^SHA256SUMS-\d{6,}$/;

/** What a member is. */
export type MemberKind =
  | { kind: 'manifest' }
  | { kind: 'rows'; table: string }
  | { kind: 'audio'; recordingId: string; format: string }
  | { kind: 'text' }
  | { kind: 'sums' };

/** Null for a name that no archive has. */
export function memberKind(name: string): MemberKind | null {
  if (name === MANIFEST) return { kind: 'manifest' };
  if (SUMS.test(name)) return { kind: 'sums' };
  if (TEXT.test(name)) return { kind: 'text' };
  const [, table] = ROWS.exec(name) ?? [];
  if (table !== undefined) return { kind: 'rows', table };
  const [, recordingId, format] = AUDIO.exec(name) ?? [];
  return recordingId !== undefined && format !== undefined ? { kind: 'audio', recordingId, format } : null;
}

/** A line of `sha256sum`. */
export const sumLine = (sum: string, name: string): string => `${sum}  ${name}\n`;
