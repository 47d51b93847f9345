import { type Env, InvalidEnvironmentError } from '../../../platform/config/env.js';
import { openAiEngine } from './openai/openai.engine.js';
import { pocketSphinxEngine } from './pocketsphinx/pocketsphinx.engine.js';
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
