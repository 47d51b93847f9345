import { t } from '../../../language/texts';

export interface TagRow {
  id: number;
  key: string;
  value: string;
}

const MOST_TAGS = 10;
const KEY = /^[A-Za-z0-9_-]{1,32}$/;
const LONGEST_VALUE = 128;
const MOST_BYTES = 1024;
// oxlint-disable-next-line no-control-regex -- the service refuses them
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

export function canAddTag(rows: readonly TagRow[]): boolean {
  return rows.length < MOST_TAGS;
}

/** What is wrong with a tag, as the service would say. Null for a tag that is good or empty. */
export function tagError({ id, key, value }: TagRow, rows: readonly TagRow[]): string | null {
  if (key === '' && value === '') return null;
  if (!KEY.test(key)) return t('Use 1 to 32 letters, digits, hyphens or underscores for the name.');
  if (rows.some((other) => other.id < id && other.key === key)) return t('“{key}” is used twice.', { key });
  if (value.length > LONGEST_VALUE) return t('A value can have at most {most} characters.', { most: LONGEST_VALUE });
  return CONTROL.test(value) ? t('A value cannot contain control characters.') : null;
}

/** What is wrong with all of them together. */
export function tagsError(rows: readonly TagRow[]): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify(tagsOf(rows))).length;
  return bytes > MOST_BYTES ? t('Tags can have at most {most, number} bytes in total.', { most: MOST_BYTES }) : null;
}

export function tagsOf(rows: readonly TagRow[]): Record<string, string> {
  return Object.fromEntries(rows.filter(({ key }) => key !== '').map(({ key, value }) => [key, value]));
}
