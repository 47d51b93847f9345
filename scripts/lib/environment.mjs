import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

import { readFileIfAny, writeSecretFile } from './files.mjs';
import { DATA, ROOT } from './paths.mjs';
import { UserError } from './steps.mjs';

const SECRET_LENGTH = 32;

/** Settings that the running `npm start` or `npm run dev` generated, for the commands that are run beside it. */
export const RUNNING_ENVIRONMENT = join(DATA, 'run', 'environment.json');

/** The real environment, and below it the file `.env`. An empty value counts as absent, as in the service itself. */
export function readEnvironment() {
  const file = parseEnv(readFileIfAny(join(ROOT, '.env')) ?? '');
  return { ...withoutEmpty(file), ...withoutEmpty(process.env) };
}

/** In production nothing is generated. @throws UserError naming every missing variable */
export function checkProduction(env) {
  // The service itself reads the file that NAME_FILE names.
  const problems = ['DATABASE_URL', 'REDIS_URL', ...(env.ROLES?.trim() === 'transcriber' ? [] : ['SECRET_KEY'])]
    .filter((name) => !env[name] && !env[`${name}_FILE`])
    .map((name) => `  ${name} is required`);
  if (env.SECRET_KEY && env.SECRET_KEY.trim().length < SECRET_LENGTH) {
    problems.push(`  SECRET_KEY must be at least ${SECRET_LENGTH} characters long`);
  }
  if (problems.length > 0)
    throw new UserError(`Invalid environment variables (NODE_ENV=production):\n${problems.join('\n')}`);
}

/** What the local quick start adds to an environment that does not say otherwise. */
export function localSettings(env) {
  const settings = {
    // Everywhere else a process without NODE_ENV is one of production.
    NODE_ENV: env.NODE_ENV ?? 'development',
    ...(env.SECRET_KEY_FILE ? {} : { SECRET_KEY: env.SECRET_KEY ?? localSecret() }),
    STORAGE_DIR: env.STORAGE_DIR ?? join(DATA, 'storage'),
    MODELS_FOLDER: env.MODELS_FOLDER ?? join(DATA, 'models'),
    HOST: env.HOST ?? '127.0.0.1',
    // So that a webhook receiver on the same machine can be tried out.
    WEBHOOK_ALLOWED_CIDRS: env.WEBHOOK_ALLOWED_CIDRS ?? '127.0.0.0/8,::1/128',
  };
  return settings;
}

/**
 * The environment for checks and tests, without the service's own settings: a developer's must not change what is
 * tested, and tests must not reach a developer's database. `.env.example` names them all.
 */
export function cleanEnvironment() {
  const example = readFileIfAny(join(ROOT, '.env.example')) ?? '';
  const names = new Set([...example.matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.has(name)));
}

function localSecret() {
  const file = join(DATA, 'secret');
  const kept = readFileIfAny(file)?.trim();
  if (kept) return kept;
  const secret = randomBytes(SECRET_LENGTH).toString('hex');
  writeSecretFile(file, `${secret}\n`);
  return secret;
}

function withoutEmpty(env) {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim()));
}
