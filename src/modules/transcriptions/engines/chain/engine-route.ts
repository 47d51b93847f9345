import { AudioRejectedError } from '../transcription-engine.js';
import type { EngineChoice } from './engine-choice.js';

/** What decides which engines may transcribe a recording. */
export interface RoutedAudio {
  /** Lower-case English name, or null when the client gave none. */
  language: string | null;
  /** According to the file; null when unknown. The decoded length decides in the end. */
  seconds: number | null;
  /** Crashes of engines on this recording. */
  faults: number;
}

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

/** @throws AudioRejectedError when no engine of the chain takes the language. */
export function routeOf(chain: readonly EngineChoice[], audio: RoutedAudio, languagesOf: LanguagesOf): EngineRoute {
  const missing = byName(chain).flatMap(({ name }) => (languagesOf(name) === undefined ? name : []));
  const present = chain.filter(({ name }) => !missing.includes(name));
  const speaking = byLanguage(present, audio.language, languagesOf);
  if (speaking.length === 0 && missing.length === 0) throw unsupported(audio.language, present, languagesOf);
  const fitting = byName(byLength(speaking, audio.seconds));
  const passed = Math.min(Math.floor(audio.faults / CRASHES_PER_ENGINE), fitting.length - 1);
  const dependsOnLength = chain.some(({ maxSeconds }) => maxSeconds !== undefined);
  return { choices: fitting.slice(Math.max(0, passed)), missing, dependsOnLength };
}

/** Recordings without a language are for the engines that take any, if there is one. */
function byLanguage(
  chain: readonly EngineChoice[],
  language: string | null,
  languagesOf: LanguagesOf,
): readonly EngineChoice[] {
  if (language !== null) return chain.filter((choice) => spoken(choice, languagesOf)?.includes(language) ?? true);
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

/** Null: any. */
function spoken({ name, languages }: EngineChoice, languagesOf: LanguagesOf): readonly string[] | null {
  const own = languagesOf(name) ?? [];
  if (own === 'any') return languages ?? null;
  return languages ? own.filter((language) => languages.includes(language)) : own;
}

function unsupported(language: string | null, chain: readonly EngineChoice[], languagesOf: LanguagesOf): Error {
  const supported = new Set(chain.flatMap((choice) => spoken(choice, languagesOf) ?? []));
  return new AudioRejectedError(`Language not supported: ${language}. Supported: ${[...supported].join(', ')}.`);
}
