import { EnvReader } from './env-reader.js';

/** What `npm run models` reads of the environment: it needs no database and no SECRET_KEY. */
export interface ModelSettings {
  modelsFolder: string;
  modelsUrl: string;
  hfToken: string | null;
}

/** The part of `readEnv` that concerns models. */
export function readModelSettings(read: EnvReader): ModelSettings {
  return {
    modelsFolder: read.text('MODELS_FOLDER') ?? './.data/models',
    modelsUrl: read.url('MODELS_URL', ['https:', 'http:']) ?? 'https://huggingface.co',
    hfToken: read.text('HF_TOKEN'),
  };
}

/**
 * These settings alone.
 * @throws InvalidEnvironmentError
 */
export function modelSettings(source: NodeJS.ProcessEnv): ModelSettings {
  const read = new EnvReader(source);
  const settings = readModelSettings(read);
  read.throwIfBroken();
  return settings;
}

/** Which proxy is set, for an operator: without its credentials. */
export function proxyText(source: NodeJS.ProcessEnv): string {
  const set = ['HTTPS_PROXY', 'HTTP_PROXY', 'NO_PROXY'].flatMap((name) => {
    const value = source[name.toLowerCase()] ?? source[name];
    return value ? `${name}=${name === 'NO_PROXY' ? value : withoutCredentials(value)}` : [];
  });
  return set.length > 0 ? `Set now: ${set.join(', ')}.` : 'None is set now.';
}

function withoutCredentials(address: string): string {
  // The origin of `proxy:3128`, in which `proxy` is the scheme, is the text `null`.
  const origin = URL.canParse(address) ? new URL(address).origin : 'null';
  return origin === 'null' ? '(not a URL)' : origin;
}
