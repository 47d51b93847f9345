import { type Env, InvalidEnvironmentError } from '../../../../platform/config/env.js';
import { registeredEngines, selectEngine } from '../engine-registry.js';
import type { EngineDefinition } from '../transcription-engine.js';
import { type EngineChoice, parseEngineChoices } from './engine-choice.js';

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
  return { chain: selected.map(({ choice, definition }) => ({ ...choice, name: definition.name })), definitions };
}

function choicesOf({ transcriptionEngine }: Env): EngineChoice[] {
  try {
    return parseEngineChoices(transcriptionEngine);
  } catch (error) {
    throw new InvalidEnvironmentError([`TRANSCRIPTION_ENGINE ${(error as Error).message}`]);
  }
}
