import type { Env } from '../../../platform/config/env.js';
import { OpenAiEngine } from './openai/openai.engine.js';
import { PocketSphinxEngine } from './pocketsphinx/pocketsphinx.engine.js';
import type { TranscriptionEngine } from './transcription-engine.js';

/** The engine that the environment names; `auto` takes a hosted one where it is configured. Starts nothing yet. */
export function createEngine(env: Env): TranscriptionEngine {
  return usesOpenAi(env) ? new OpenAiEngine(env) : new PocketSphinxEngine();
}

function usesOpenAi(env: Env): boolean {
  if (env.transcriptionEngine !== 'auto') return env.transcriptionEngine === 'openai';
  return env.openaiBaseUrl !== null || env.openaiApiKey !== null;
}
