import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

import { cleanEnvironment } from '../../scripts/lib/environment.mjs';
import { run, waitUntil } from '../../scripts/lib/processes.mjs';
import { prepareProject } from '../../scripts/lib/setup.mjs';
import { printError, step, UserError } from '../../scripts/lib/steps.mjs';
import { ensureSystemPackages } from '../../scripts/lib/system-packages.mjs';
import { startTemporaryServices } from '../../scripts/lib/temporary-services.mjs';
import { Member } from '../chaos/fleet.mjs';
import { buildRelease, lastRelease } from './old-release.mjs';

/** An orderly stop takes at most 10 s; then a process ends by itself. */
export const STOP_MS = 30_000;

/** Exits with 0 if `main` is content, 1 if not, and 2 when it could not be run. */
export async function runAndUndo(main, undo) {
  try {
    process.exitCode = (await main()) ? 0 : 1;
  } catch (error) {
    printError(error);
    process.exitCode = 2;
  } finally {
    for (const end of undo.toReversed()) await end();
  }
}

/**
 * The last release, built, with a database of its own schema and an account.
 * @param undo gets what ends it
 * @param variables of all processes, beside the usual ones
 */
export async function prepareOldRelease(undo, variables = {}) {
  await ensureSystemPackages(cleanEnvironment());
  await prepareProject();
  const folder = mkdtempSync(join(tmpdir(), 'voice-notes-upgrade-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const { name, commit } = lastRelease();
  const old = join(folder, 'release');
  await step(`Build ${name}`, () => buildRelease(commit, old));
  const services = await startTemporaryServices({ durable: true });
  undo.push(() => services.stop());
  const env = { ...environmentOf(services, folder), ...variables };
  const database = await connect(env, undo);
  await runNode(old, ['dist/commands/migrate.js'], env);
  const credentials = await createAccount(old, env);
  const start = async (member, roles, root) => {
    const started = await Member.create(member, roles, { env, folder, root });
    undo.push(() => started.stop(STOP_MS));
    if (!(await waitUntil(() => started.isReady(), 60_000))) throw new UserError(`${member} did not become ready`);
    return started;
  };
  return { folder, old, services, env, database, credentials, start };
}

export function environmentOf(services, folder) {
  return {
    ...cleanEnvironment(),
    ...services.env,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    SECRET_KEY: randomBytes(32).toString('hex'),
    STORAGE_DIR: join(folder, 'storage'),
    CONSOLE: 'off',
    ADDRESS_RATE_LIMIT: '1000000/1000000',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    TRANSCRIPTION_ENGINE: 'pocketsphinx',
    LOG_LEVEL: 'warn',
  };
}

export async function connect(env, undo) {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  undo.push(() => client.end());
  return client;
}

export async function runNode(cwd, args, env) {
  const { code, stdout, output } = await run(process.execPath, args, { cwd, env });
  if (code !== 0) throw new UserError(`${args.join(' ')} failed:\n${output}`);
  return stdout;
}

async function createAccount(root, env) {
  const limits = ['--plan', 'enterprise', '--rate-limit', '1000000', '--burst-limit', '1000000'];
  const args = ['account:create', '--name', 'Upgrade', '--email', 'u@example.com', ...limits, '--json'];
  const made = JSON.parse(await runNode(root, ['dist/commands/cli.js', ...args], env));
  return { 'X-Service-API-Key': made.api_key, 'X-Service-API-Secret': made.api_secret };
}
