import { type Env, InvalidEnvironmentError } from '../../../platform/config/env.js';
import { type EngineChoice, parseEngineChoices } from './engine-choice.js';
import { openAiEngine } from './openai/openai.engine.js';
import { pocketSphinxEngine } from './pocketsphinx.engine.js';
import { streamingModelFolder } from './sherpa/sherpa-streaming.js';
import { sherpaEngine } from './sherpa/sherpa.engine.js';
import type { EngineDefinition } from './transcription-engine.js';

/** The engines of the core, in the order in which `auto` considers them. */
const CORE_ENGINES: readonly EngineDefinition[] = [openAiEngine, sherpaEngine, pocketSphinxEngine];

const AUTO = 'auto';

/** Every engine that can be named. @param added those of extensions */
export const registeredEngines = (added: readonly EngineDefinition[]): EngineDefinition[] => [
  ...added,
  ...CORE_ENGINES,
];

/**
 * An engine that TRANSCRIPTION_ENGINE names. `auto` selects the first configured one, engines of extensions first.
 * @throws InvalidEnvironmentError when the name is unknown, or the engine lacks its variables.
 */
export function selectEngine(
  env: Env,
  added: readonly EngineDefinition[],
  name: string = env.transcriptionEngine,
): EngineDefinition {
  const engines = registeredEngines(added);
  const names = engines.map((engine) => engine.name);
  refuseAmbiguous(names);
  const engine = engines.find((candidate) => (name === AUTO ? candidate.isConfigured?.(env) : candidate.name === name));
  if (!engine) {
    throw new InvalidEnvironmentError([`TRANSCRIPTION_ENGINE must be one of ${[AUTO, ...names].join(', ')}`]);
  }
  if (engine.isConfigured?.(env) === false) {
    throw new InvalidEnvironmentError([`TRANSCRIPTION_ENGINE=${name} requires ${engine.variables ?? 'configuration'}`]);
  }
  return engine;
}

function refuseAmbiguous(names: readonly string[]): void {
  const taken = [AUTO, ...names].find((name, index, all) => all.indexOf(name) !== index);
  if (taken !== undefined) throw new Error(`Transcription engine name already taken: ${taken}`);
}

/** Injection token of an {@link EngineSelection}. */
export const ENGINE_SELECTION = Symbol('EngineSelection');

/** The engines of a process. */
export interface EngineSelection {
  /** For recordings of accounts without a chain of their own. */
  chain: readonly EngineChoice[];
  /** Those of the chain, and all others that are configured: accounts may have them. */
  definitions: readonly EngineDefinition[];
}

/**
 * Reads TRANSCRIPTION_ENGINE, one engine or several of which the first that can work does, and checks CLIENT_ENGINES.
 * @throws InvalidEnvironmentError
 */
export function selectEngines(env: Env, added: readonly EngineDefinition[]): EngineSelection {
  const selected = choicesOf(env).map((choice) => ({ choice, definition: selectEngine(env, added, choice.name) }));
  const named = selected.map(({ definition }) => definition);
  const others = registeredEngines(added).filter((other) => !named.includes(other) && other.isConfigured?.(env));
  const definitions = [...new Set([...named, ...others])];
  const unknown = env.clientEngines.find((name) => !definitions.some((definition) => definition.name === name));
  if (unknown !== undefined) {
    const names = definitions.map(({ name }) => name).join(', ');
    throw new InvalidEnvironmentError([
      `CLIENT_ENGINES names ${unknown}, and the engines configured here are ${names}`,
    ]);
  }
  const streaming = streamingModelFolder(env) === null ? [] : [sherpaEngine.name];
  const live = new Set(['auto', 'off', ...definitions.map(({ name }) => name), ...streaming]);
  if (!live.has(env.liveEngine))
    throw new InvalidEnvironmentError([`LIVE_ENGINE must be one of ${[...live].join(', ')}`]);
  return { chain: selected.map(({ choice, definition }) => ({ ...choice, name: definition.name })), definitions };
}

function choicesOf({ transcriptionEngine }: Env): EngineChoice[] {
  try {
    return parseEngineChoices(transcriptionEngine);
  } catch (error) {
    throw new InvalidEnvironmentError([`TRANSCRIPTION_ENGINE ${(error as Error).message}`]);
  }
}
