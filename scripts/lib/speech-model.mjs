import { join } from 'node:path';

import { localSettings } from './environment.mjs';
import { readFileIfAny } from './files.mjs';
import { DATA, ROOT } from './paths.mjs';
import { run } from './processes.mjs';
import { UserError } from './steps.mjs';

export const USAGE = `Usage: npm start [-- --model NAME]

  --model NAME   download this model of speech recognition if it is not there yet, select it, and transcribe with it;
                 npm run models -- list shows all. Later starts use it again.`;

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/**
 * The arguments of `npm start`.
 * @returns {{ model: string | null, help: boolean }}
 * @throws UserError
 */
export function startOptions(args) {
  const [first, second, ...rest] = args.flatMap((arg) =>
    arg.startsWith('--model=') ? ['--model', arg.slice(8)] : arg,
  );
  if (first === undefined) return { model: null, help: false };
  if (first === '--help' || first === '-h') return { model: null, help: true };
  if (first !== '--model') throw new UserError(`Unknown argument: ${first}\n\n${USAGE}`);
  if (second === undefined || !NAME.test(second)) throw new UserError(`--model needs the name of a model.\n\n${USAGE}`);
  if (rest.length > 0) throw new UserError(`Unknown argument: ${rest[0]}\n\n${USAGE}`);
  return { model: second, help: false };
}

/** The environment in which the chosen model is used, whatever else is set. */
export function withModel(env, model) {
  return model === null ? env : { ...env, TRANSCRIPTION_ENGINE: 'sherpa', SHERPA_MODEL: model };
}

/** Whether the service would run a model of speech recognition itself. */
export function usesModel(env) {
  const engine = env.TRANSCRIPTION_ENGINE || 'auto';
  // One engine, or a chain of several in either of its forms.
  if (engine !== 'auto') return /\bsherpa\b/.test(engine);
  if (env.OPENAI_BASE_URL || env.OPENAI_API_KEY) return false;
  return Boolean(env.SHERPA_MODEL || readFileIfAny(join(modelsFolder(env), 'selected'))?.trim());
}

/** Downloads a model, unless it is there, and selects it. Its progress goes to the terminal. */
export async function prepareModel(env, model) {
  const args = ['dist/commands/models.js', 'pull', model, '--use', '--json'];
  const options = { cwd: ROOT, env: { ...env, MODELS_FOLDER: modelsFolder(env) }, showsErrors: true };
  const { code, stdout } = await run(process.execPath, args, options);
  if (code !== 0) throw new UserError(`The model ${model} could not be prepared: see above.`);
  const { model: prepared, downloaded } = JSON.parse(stdout);
  const size =
    prepared.bytes < 1e6 ? `${Math.ceil(prepared.bytes / 1e3)} kB` : `${Math.round(prepared.bytes / 1e6)} MB`;
  return `${model}, ${downloaded ? `${size} downloaded and checked` : 'there already'}`;
}

function modelsFolder(env) {
  if (env.MODELS_FOLDER) return env.MODELS_FOLDER;
  return env.NODE_ENV === 'production' ? join(DATA, 'models') : localSettings(env).MODELS_FOLDER;
}
