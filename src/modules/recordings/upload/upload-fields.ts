import { InvalidRequestError } from '../../../platform/errors/errors.js';
import { isCleanText } from '../../../platform/http/input/rules.js';
import { isLanguage, languageName } from '../../../platform/languages/languages.js';
import { parseCustomTags } from './custom-tags.js';

/** Compact JSON of the `custom_tags` field, or null without one. @throws InvalidRequestError */
export function readCustomTags(text: string | undefined): string | null {
  if (text === undefined) return null;
  const tags = parseCustomTags(text);
  if (!tags.ok) throw new InvalidRequestError({ field: 'custom_tags', reason: tags.reason });
  return tags.json;
}

/** The lower-case English name of the `language` field, or null without one. @throws InvalidRequestError */
export function readLanguage(text: string | undefined): string | null {
  if (text === undefined) return null;
  const name = isCleanText(text) ? languageName(text) : null;
  if (name !== null && isLanguage(text)) return name;
  const reason =
    name === null
      ? 'must be the English name of a language, such as english'
      : `must be a language name, not a code: ${name}`;
  throw new InvalidRequestError({ field: 'language', reason });
}
