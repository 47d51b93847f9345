import { existsSync } from 'node:fs';
import path from 'node:path';
import { childEnvironment } from '../../../platform/config/child-environment.js';

/** Programs and libraries of Linux distributions, Nix and Guix. */
const SYSTEM_FOLDERS = ['/usr', '/lib', '/lib32', '/lib64', '/bin', '/nix/store', '/gnu/store'];
/** What the dynamic linker reads. Debian chooses the BLAS of ffmpeg and PocketSphinx by links in /etc/alternatives. */
const LINKER_FILES = ['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives'];
const DEVICES = ['/dev/null', '/dev/zero', '/dev/random', '/dev/urandom'];

/**
 * Options of bubblewrap: a root folder that holds only programs, libraries and what the program reads, all of it
 * read-only; no /proc, no network, no other process. It ends with this process. It keeps the session of this process:
 * the kernel schedules a session of its own by itself, so that its niceness would mean nothing. No terminal is in reach.
 * @param reads absolute paths of files and folders
 */
export function bubblewrapOptions(program: string, reads: readonly string[]): string[] {
  const libraries = (childEnvironment().LD_LIBRARY_PATH ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const optional = [...SYSTEM_FOLDERS, ...LINKER_FILES, ...libraries].flatMap((name) => ['--ro-bind-try', name, name]);
  const required = [...programFiles(program), ...reads].flatMap((name) => ['--ro-bind', name, name]);
  const devices = DEVICES.flatMap((name) => ['--dev-bind-try', name, name]);
  const binds = [...optional, ...required, ...devices, '--remount-ro', '/', '--chdir', '/'];
  return ['--unshare-all', '--die-with-parent', '--cap-drop', 'ALL', ...binds];
}

/** A program outside the system's folders may have its libraries beside it, as in /opt/ffmpeg/bin and /opt/ffmpeg/lib. */
function programFiles(program: string): string[] {
  if (SYSTEM_FOLDERS.some((folder) => program.startsWith(`${folder}/`))) return [];
  const folder = path.dirname(program);
  const prefix = path.dirname(folder);
  const lib = path.join(prefix, 'lib');
  return path.basename(folder) === 'bin' && prefix !== '/' ? [program, ...[lib].filter(existsSync)] : [program];
}
