import { isLanguage, languageName } from '../../../platform/languages.js';
import { AudioRejectedError } from './transcription-engine.js';

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

/** What decides which engines may transcribe a recording. */
export interface RoutedAudio {
  /** Lower-case English name, or null when the client gave none. */
  language: string | null;
  /** Names in place of one language, of which an engine must take one at least. */
  languages?: readonly string[] | null;
  /** Whether its text is to be in English, whatever is spoken. */
  translate?: boolean;
  /** According to the file; null when unknown. The decoded length decides in the end. */
  seconds: number | null;
  /** Crashes of engines on this recording. */
  faults: number;
}

/** For the client. */
export const NO_TRANSLATION = 'This service has no engine that translates.';

/** What an engine speaks; undefined when there is no such engine in this process. */
export type LanguagesOf = (name: string) => readonly string[] | 'any' | undefined;

export interface EngineRoute {
  /** Engines to try, the first one first, each once. */
  choices: EngineChoice[];
  /** Engines that might do it and that this process does not have. */
  missing: string[];
  /** Whether a shorter recording might have other engines. */
  dependsOnLength: boolean;
}

/** After so many crashes of one engine on a recording, the next engine gets it. */
const CRASHES_PER_ENGINE = 2;

/** @throws AudioRejectedError when no engine of the chain takes the language, or translates. */
export function routeOf(
  chain: readonly EngineChoice[],
  audio: RoutedAudio,
  languagesOf: LanguagesOf,
  translates: (name: string) => boolean = () => false,
): EngineRoute {
  const missing = byName(chain).flatMap(({ name }) => (languagesOf(name) === undefined ? name : []));
  const able = chain.filter(({ name }) => !audio.translate || missing.includes(name) || translates(name));
  if (able.length === 0) throw new AudioRejectedError(NO_TRANSLATION);
  const present = able.filter(({ name }) => !missing.includes(name));
  const asked = audio.languages ?? (audio.language === null ? null : [audio.language]);
  const speaking = byLanguage(present, asked, languagesOf);
  if (speaking.length === 0 && missing.length === 0) throw unsupported(asked ?? [], present, languagesOf);
  const fitting = byName(byLength(speaking, audio.seconds));
  const passed = Math.min(Math.floor(audio.faults / CRASHES_PER_ENGINE), fitting.length - 1);
  const dependsOnLength = chain.some(({ maxSeconds }) => maxSeconds !== undefined);
  return { choices: fitting.slice(Math.max(0, passed)), missing, dependsOnLength };
}

/**
 * Recordings without a language are for the engines that take any, if there is one. Those with several are for the engines
 * that take all of them, else for those that take some.
 */
function byLanguage(
  chain: readonly EngineChoice[],
  asked: readonly string[] | null,
  languagesOf: LanguagesOf,
): readonly EngineChoice[] {
  if (asked !== null) {
    const taken = (choice: EngineChoice): number => takenLanguages(choice, languagesOf(choice.name), asked).length;
    const all = chain.filter((choice) => taken(choice) === asked.length);
    return all.length > 0 ? all : chain.filter((choice) => taken(choice) > 0);
  }
  const open = chain.filter(({ languages }) => languages === undefined);
  return open.length > 0 ? open : chain;
}

/** If the recording is too long for every engine, the one that takes the longest finds out whether that is true. */
function byLength(chain: readonly EngineChoice[], seconds: number | null): readonly EngineChoice[] {
  const fitting = chain.filter(({ maxSeconds = Infinity }) => (seconds ?? 0) <= maxSeconds);
  if (fitting.length > 0) return fitting;
  return chain.toSorted((a, b) => (b.maxSeconds ?? Infinity) - (a.maxSeconds ?? Infinity)).slice(0, 1);
}

/** Where several entries of one engine fit, only the first. */
const byName = (chain: readonly EngineChoice[]): EngineChoice[] =>
  chain.filter(({ name }, index) => chain.findIndex((other) => other.name === name) === index);

/** Those of the languages that an engine may be told. @param own what the engine supports. */
export function takenLanguages(
  choice: EngineChoice,
  own: ReturnType<LanguagesOf>,
  asked: readonly string[],
): readonly string[] {
  const known = spoken(choice, own);
  return known === null ? asked : asked.filter((language) => known.includes(language));
}

/** Null: any. */
function spoken({ languages }: EngineChoice, own: ReturnType<LanguagesOf> = []): readonly string[] | null {
  if (own === 'any') return languages ?? null;
  return languages ? own.filter((language) => languages.includes(language)) : own;
}

function unsupported(asked: readonly string[], chain: readonly EngineChoice[], languagesOf: LanguagesOf): Error {
  const supported = new Set(chain.flatMap((choice) => spoken(choice, languagesOf(choice.name)) ?? []));
  return new AudioRejectedError(
    `Language not supported: ${asked.join(', ')}. Supported: ${[...supported].join(', ')}.`,
  );
}
