import { isLanguage, languageName } from '../../../../platform/languages.js';

/** One engine of a chain, and the recordings that it may have. */
export interface EngineChoice {
  /** As the engine is registered. */
  name: string;
  /** Lower-case English names; undefined: every language of the engine. */
  languages?: readonly string[];
  /** Longer recordings are for another engine. */
  maxSeconds?: number;
}

/** As it is written in JSON. */
export interface EngineChoiceJson {
  name: string;
  languages?: readonly string[];
  max_seconds?: number;
}

const MAX_CHOICES = 10;
const MAX_SECONDS = 86_400;
const EXAMPLE = '[{"name":"openai","languages":["german"],"max_seconds":600},{"name":"pocketsphinx"}]';
const KEYS = new Set(['name', 'languages', 'max_seconds']);

/**
 * Names separated by commas, such as `openai,pocketsphinx`, or a JSON list.
 * @throws Error whose message follows the name of the field
 */
export function parseEngineChoices(text: string): EngineChoice[] {
  if (!text.trimStart().startsWith('[')) {
    return readEngineChoices(text.split(',').map((name) => ({ name: name.trim() })));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`must be names separated by commas, or a JSON list such as ${EXAMPLE}`);
  }
  return readEngineChoices(value);
}

/** @throws Error whose message follows the name of the field */
export function readEngineChoices(value: unknown): EngineChoice[] {
  if (!Array.isArray(value) || value.length === 0) throw new Error(`must be a list such as ${EXAMPLE}`);
  if (value.length > MAX_CHOICES) throw new Error(`must have at most ${MAX_CHOICES} engines`);
  return value.map(readChoice);
}

export const engineChoicesJson = (choices: readonly EngineChoice[]): EngineChoiceJson[] =>
  choices.map(({ name, languages, maxSeconds }) => ({
    name,
    ...(languages && { languages }),
    ...(maxSeconds !== undefined && { max_seconds: maxSeconds }),
  }));

function readChoice(value: unknown): EngineChoice {
  const item: unknown = typeof value === 'string' ? { name: value } : value;
  if (typeof item !== 'object' || item === null || Array.isArray(item)) {
    throw new Error(`must be a list such as ${EXAMPLE}`);
  }
  const unknown = Object.keys(item).find((key) => !KEYS.has(key));
  if (unknown !== undefined) throw new Error(`has an unknown key "${unknown}". Use ${[...KEYS].join(', ')}`);
  const { name, languages, max_seconds: maxSeconds } = item as Record<string, unknown>;
  if (typeof name !== 'string' || name === '') throw new Error('must give each engine a name');
  return {
    name,
    ...(languages !== undefined && { languages: readLanguages(name, languages) }),
    ...(maxSeconds !== undefined && { maxSeconds: readSeconds(name, maxSeconds) }),
  };
}

function readLanguages(engine: string, value: unknown): string[] {
  const names = Array.isArray(value) ? (value as unknown[]) : [];
  const isNames = names.length > 0 && names.every((name) => typeof name === 'string' && isLanguage(name));
  if (!isNames) throw new Error(`must have English names in languages of ${engine}, such as ["english","german"]`);
  return [...new Set((names as string[]).map((name) => languageName(name) as string))];
}

function readSeconds(engine: string, value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_SECONDS) return value as number;
  throw new Error(`must have an integer from 1 to ${MAX_SECONDS} in max_seconds of ${engine}`);
}
